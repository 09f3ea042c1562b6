//go:build tools

// Package tools names the program that the tests of gates build.
package tools

import _ "github.com/prometheus/alertmanager/cmd/alertmanager"
