// Command attend is what the test harness needs beside the control plane and cannot get from Node alone:
//
//	attend run PATIENCE PIDFILE COMMAND [ARGS…]
//	    runs COMMAND for as long as stdin stays open: a test process that is killed takes its servers along.
//	    COMMAND gets a SIGTERM first and PATIENCE (for example 5s) to heed it; with 0s it is killed at once.
//	attend pki DIRECTORY
//	    writes a certificate authority, a server certificate, a client certificate and a signing key.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	if len(os.Args) >= 5 && os.Args[1] == "run" {
		patience, err := time.ParseDuration(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, "attend run:", err)
			os.Exit(2)
		}
		os.Exit(run(patience, os.Args[3], os.Args[4:]))
	}
	if len(os.Args) == 3 && os.Args[1] == "pki" {
		if err := writePKI(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "attend pki:", err)
			os.Exit(1)
		}
		return
	}
	fmt.Fprintln(os.Stderr, "usage: attend run PATIENCE PIDFILE COMMAND [ARGS…] | attend pki DIRECTORY")
	os.Exit(2)
}
