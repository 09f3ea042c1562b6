// Package monitoring loads what deploy/monitoring ships with Prometheus' own code: rules as promtool checks them, every expression of the
// dashboard, and what the alerts say about scenarios.
package monitoring

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"go.yaml.in/yaml/v3"
)

var language = parser.NewParser(parser.Options{})

// folder is deploy/monitoring.
func folder(t *testing.T) string {
	found := os.Getenv("DRYDOCK_MONITORING")
	if found == "" {
		t.Fatal("DRYDOCK_MONITORING does not name the folder deploy/monitoring")
	}
	return found
}

func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	groups, errs := rulefmt.ParseFile(filepath.Join(folder(t), "rules.yaml"), false, model.UTF8Validation, language, quiet)
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		t.FailNow()
	}
	var all []rulefmt.Rule
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

func TestRulesAreValid(t *testing.T) {
	all := rules(t)
	if len(all) == 0 {
		t.Fatal("there are no rules")
	}
	for _, rule := range all {
		if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s: severity, summary and description are what people act on", rule.Alert)
		}
	}
}

type panel struct {
	Title   string  `json:"title"`
	Panels  []panel `json:"panels"`
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

func TestDashboardAsksWhatPrometheusUnderstands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder(t), "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []panel `json:"panels"`
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	count := 0
	var walk func([]panel)
	walk = func(panels []panel) {
		for _, one := range panels {
			for _, target := range one.Targets {
				count++
				// What Grafana puts in before it asks.
				expr := strings.NewReplacer("$__rate_interval", "2m", "$job", "drydock").Replace(target.Expr)
				if _, err := language.ParseExpr(expr); err != nil {
					t.Errorf("panel %q: %s: %v", one.Title, expr, err)
				}
			}
			walk(one.Panels)
		}
	}
	walk(dashboard.Panels)
	if count == 0 {
		t.Fatal("no panel asks for anything")
	}
}

type scenario struct {
	Name string `yaml:"name"`
	// Samples, one a minute, in the notation of promtool's tests.
	Series []string `yaml:"series"`
	// Minutes after the first sample.
	At int `yaml:"at"`
	// The alerts whose expressions hold then, sorted.
	Alerts []string `yaml:"alerts"`
}

func scenarios(t *testing.T) (found []scenario, healthy []string) {
	t.Helper()
	text, err := os.ReadFile(os.Getenv("DRYDOCK_SCENARIOS"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Healthy   []string   `yaml:"healthy"`
		Scenarios []scenario `yaml:"scenarios"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Scenarios, file.Healthy
}

// nameOf gives a series without its samples.
func nameOf(series string) string {
	return series[:strings.LastIndex(series, " ")]
}

// load lays the series of a scenario over the healthy ones.
func load(healthy []string, one scenario) string {
	text := "load 1m\n"
	for _, series := range healthy {
		replaced := slices.ContainsFunc(one.Series, func(own string) bool { return nameOf(own) == nameOf(series) })
		if !replaced {
			text += "  " + series + "\n"
		}
	}
	for _, series := range one.Series {
		text += "  " + series + "\n"
	}
	return text
}

func TestAlertsSayWhatIsTheMatter(t *testing.T) {
	all := rules(t)
	found, healthy := scenarios(t)
	seen := map[string]bool{}
	for _, one := range found {
		t.Run(one.Name, func(t *testing.T) {
			storage := promqltest.LoadedStorage(t, load(healthy, one))
			engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, Parser: language})
			alerts := []string{}
			for _, rule := range all {
				at := time.Unix(0, 0).Add(time.Duration(one.At) * time.Minute)
				query, err := engine.NewInstantQuery(context.Background(), storage, nil, rule.Expr, at)
				if err != nil {
					t.Fatal(err)
				}
				vector, err := query.Exec(context.Background()).Vector()
				if err != nil {
					t.Fatalf("%s: %v", rule.Alert, err)
				}
				if len(vector) > 0 {
					alerts = append(alerts, rule.Alert)
					seen[rule.Alert] = true
				}
			}
			slices.Sort(alerts)
			if !slices.Equal(alerts, one.Alerts) {
				t.Errorf("alerts %v, expected %v", alerts, one.Alerts)
			}
		})
	}
	for _, rule := range all {
		if !seen[rule.Alert] {
			t.Errorf("no scenario sets off %s", rule.Alert)
		}
	}
}
