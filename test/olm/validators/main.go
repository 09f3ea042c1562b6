// Prints as JSON what operator-framework's own code makes of a release: what the validators find in the bundle in a folder ("bundle FOLDER"), the bundles in
// the file-based catalog in a folder, validated as `opm validate` does ("catalog FOLDER"), and the kinds of OLM ("crds").
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/operator-framework/api/crds"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
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

func bundlesIn(folder string) ([]string, error) {
	config, err := declcfg.LoadFS(context.Background(), os.DirFS(folder))
	if err != nil {
		return nil, err
	}
	if _, err := declcfg.ConvertToModel(*config); err != nil {
		return nil, err
	}
	names := []string{}
	for _, bundle := range config.Bundles {
		names = append(names, bundle.Name)
	}
	return names, nil
}

func result(arguments []string) (any, error) {
	switch {
	case len(arguments) == 1 && arguments[0] == "crds":
		return kinds(), nil
	case len(arguments) == 2 && arguments[0] == "bundle":
		return findings(arguments[1])
	case len(arguments) == 2 && arguments[0] == "catalog":
		return bundlesIn(arguments[1])
	}
	return nil, errors.New("usage: validators bundle FOLDER | catalog FOLDER | crds")
}

func main() {
	found, err := result(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
