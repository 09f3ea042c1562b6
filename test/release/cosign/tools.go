//go:build tools

// Package tools names the programs that the tests of the release build.
package tools

import _ "github.com/sigstore/cosign/v3/cmd/cosign"
