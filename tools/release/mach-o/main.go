// Signs a Mach-O executable ad hoc: no certificate, but macOS on arm64 starts it.
package main

import (
	"fmt"
	"os"

	"github.com/blacktop/go-macho"
	"github.com/blacktop/go-macho/pkg/codesign"
	"github.com/blacktop/go-macho/pkg/codesign/types"
)

// fill lets each segment reach to the next one: the library writes them without what is between them.
func fill(file *macho.File) {
	segments := file.Segments()
	for at, segment := range segments[:len(segments)-1] {
		if next := segments[at+1].Offset; segment.Filesz > 0 && next > segment.Offset+segment.Filesz {
			segment.Filesz = next - segment.Offset
		}
	}
}

func run(from, to string) error {
	file, err := macho.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	fill(file)
	if err := file.CodeSign(&codesign.Config{ID: "dev.drydock.drydock", Flags: types.ADHOC}); err != nil {
		return err
	}
	return file.Save(to)
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "give the executable, and the file for the signed one")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
