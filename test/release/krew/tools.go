//go:build tools

// Package tools names the programs that the tests of the release build.
package tools

import _ "sigs.k8s.io/krew/cmd/krew"
