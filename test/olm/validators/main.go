// Says what operator-framework's own validators find in the bundle in a folder, as JSON; with "crds" prints the kinds of OLM.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/operator-framework/api/crds"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
)

type finding struct {
	Level  string `json:"level"`
	Detail string `json:"detail"`
}

func findings(folder string) ([]finding, error) {
	bundle, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		return nil, err
	}
	validators := validation.DefaultBundleValidators.WithValidators(
		validation.ObjectValidator,
		validation.OperatorHubV2Validator,
		validation.StandardCapabilitiesValidator,
		validation.StandardCategoriesValidator,
		validation.GoodPracticesValidator,
		validation.AlphaDeprecatedAPIsValidator,
	)
	found := []finding{}
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, one := range result.Errors {
			found = append(found, finding{"error", one.Error()})
		}
		for _, one := range result.Warnings {
			found = append(found, finding{"warning", one.Error()})
		}
	}
	return found, nil
}

func kinds() []any {
	return []any{
		crds.CatalogSource(), crds.ClusterServiceVersion(), crds.InstallPlan(), crds.OLMConfig(),
		crds.OperatorCondition(), crds.OperatorGroup(), crds.Operator(), crds.Subscription(),
	}
}

func answer(argument string) (any, error) {
	if argument == "crds" {
		return kinds(), nil
	}
	return findings(argument)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "name the folder of the bundle, or crds")
		os.Exit(2)
	}
	found, err := answer(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
