//go:build tools

// Package tools names the programs that the tests of the release build.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
