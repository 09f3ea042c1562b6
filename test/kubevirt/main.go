// KubeVirt's virt-api and virt-controller as one program, the first argument says which, and a printer of what virt-operator would
// install for them. All that runs and all that is printed is KubeVirt's own.
package main

import (
	"log"
	"os"

	klog "kubevirt.io/client-go/log"
	"kubevirt.io/kubevirt/pkg/service"
	virtapi "kubevirt.io/kubevirt/pkg/virt-api"
	"kubevirt.io/kubevirt/pkg/virt-controller/watch"
)

var parts = map[string]func(){
	"virt-api": func() {
		klog.InitializeLogging("virt-api")
		api := virtapi.NewVirtApi()
		service.Setup(api)
		api.Execute()
	},
	"virt-controller": watch.Execute,
	"definitions":     func() { printAll(definitions()) },
	"access":          func() { printAll(access(os.Args[1])) },
	"hooks":           func() { printAll(hooks(os.Args[1], os.Args[2], os.Args[3])) },
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		log.Fatal("usage: kubevirt virt-api|virt-controller FLAGS... | definitions | access NAMESPACE | hooks NAMESPACE PORT CA-FILE")
	}
	part := parts[os.Args[1]]
	// Both parts read their flags from the second word on.
	os.Args = os.Args[1:]
	part()
}
