// The real amazon-ec2-metadata-mock, from its module. It ends when its standard input does: whoever started it is gone then.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/aws/amazon-ec2-metadata-mock/pkg/cmd/root"
)

func main() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if err := root.NewCmd().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
