package main

import (
	"encoding/json"
	"log"
	"os"
	"strconv"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
)

func must[T any](made T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return made
}

// printAll writes one JSON array.
func printAll(objects []any) {
	out := json.NewEncoder(os.Stdout)
	must(0, out.Encode(objects))
}

// definitions are the CRDs of every kind that virt-api or virt-controller watches.
func definitions() (crds []any) {
	type maker = func() (*extv1.CustomResourceDefinition, error)
	machines := []maker{
		components.NewVirtualMachineCrd, components.NewVirtualMachineInstanceCrd, components.NewVirtualMachineInstanceMigrationCrd,
		components.NewReplicaSetCrd, components.NewPresetCrd, components.NewVirtualMachinePoolCrd, components.NewMigrationPolicyCrd,
	}
	copies := []maker{
		components.NewVirtualMachineSnapshotCrd, components.NewVirtualMachineSnapshotContentCrd, components.NewVirtualMachineRestoreCrd,
		components.NewVirtualMachineExportCrd, components.NewVirtualMachineCloneCrd,
	}
	types := []maker{
		components.NewVirtualMachineInstancetypeCrd, components.NewVirtualMachineClusterInstancetypeCrd,
		components.NewVirtualMachinePreferenceCrd, components.NewVirtualMachineClusterPreferenceCrd, components.NewKubeVirtCrd,
	}
	for _, group := range [][]maker{machines, copies, types} {
		for _, make := range group {
			crds = append(crds, must(make()))
		}
	}
	return crds
}

// access is whom KubeVirt's parts run as and what they may do, and what else is there before they start.
func access(namespace string) []any {
	objects := []any{components.NewKubeVirtPriorityClassCR()}
	for _, of := range [][]runtime.Object{
		rbac.GetAllCluster(), rbac.GetAllApiServer(namespace), rbac.GetAllController(namespace), rbac.GetAllHandler(namespace),
	} {
		for _, object := range of {
			objects = append(objects, object)
		}
	}
	for _, empty := range components.NewCAConfigMaps(namespace) {
		objects = append(objects, empty)
	}
	return objects
}

// hooks make the API server call virt-api at a port, trusting it by a CA.
func hooks(namespace, port, caFile string) []any {
	at := int32(must(strconv.ParseInt(port, 10, 32)))
	ca := must(os.ReadFile(caFile))
	validating := components.NewVirtAPIValidatingWebhookConfiguration(namespace)
	for i := range validating.Webhooks {
		to := &validating.Webhooks[i].ClientConfig
		to.CABundle, to.Service.Port = ca, &at
	}
	mutating := components.NewVirtAPIMutatingWebhookConfiguration(namespace)
	for i := range mutating.Webhooks {
		to := &mutating.Webhooks[i].ClientConfig
		to.CABundle, to.Service.Port = ca, &at
	}
	objects := []any{validating, mutating}
	for _, service := range components.NewVirtAPIAPIServices(namespace) {
		service.Spec.CABundle, service.Spec.Service.Port = ca, &at
		objects = append(objects, service)
	}
	return objects
}
