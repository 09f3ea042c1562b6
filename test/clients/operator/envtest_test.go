package main

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TestExistingCluster is how somebody's own operator is tested on the embedded cluster: USE_EXISTING_CLUSTER=true and KUBECONFIG.
func TestExistingCluster(t *testing.T) {
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "envtest"}}
	container := corev1.Container{Name: "main", Image: "example.test/none:1"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "envtest"}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}
	for _, object := range []client.Object{node, pod} {
		if err := api.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	for pod.Status.Phase != corev1.PodRunning {
		select {
		case <-ctx.Done():
			t.Fatalf("the pod is %s", pod.Status.Phase)
		case <-time.After(100 * time.Millisecond):
		}
		if err := api.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			t.Fatal(err)
		}
	}
}
