// Command operator is an operator as others write one with controller-runtime: it elects a leader, puts a finalizer on config maps, keeps a
// Deployment for each and counts its Pods from its cache, and records events. The tests run it on the embedded cluster.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer = "example.test/kept"
	wanted    = "example.test/web"
	counted   = "example.test/ready"
)

type reconciler struct {
	client.Client
	recorder record.EventRecorder
}

// deployment is what a config map asks for.
func deployment(of *corev1.ConfigMap) *appsv1.Deployment {
	labels := map[string]string{"app": of.Name}
	replicas, _ := strconv.ParseInt(of.Data["replicas"], 10, 32)
	count := int32(replicas)
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.test/none:1"}}}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &count,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var asked corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &asked); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if asked.Labels[wanted] == "" {
		return ctrl.Result{}, nil
	}
	if !asked.DeletionTimestamp.IsZero() {
		return r.release(ctx, &asked)
	}
	if controllerutil.AddFinalizer(&asked, finalizer) {
		return ctrl.Result{}, r.Update(ctx, &asked)
	}
	made := deployment(&asked)
	if err := controllerutil.SetControllerReference(&asked, made, r.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Create(ctx, made); err == nil {
		r.recorder.Event(&asked, corev1.EventTypeNormal, "Created", "the Deployment has been created")
	} else if !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, err
	}
	return r.count(ctx, &asked)
}

// count notes how many of its pods the cache has as Ready.
func (r *reconciler) count(ctx context.Context, asked *corev1.ConfigMap) (ctrl.Result, error) {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(asked.Namespace), client.MatchingLabels{"app": asked.Name}); err != nil {
		return ctrl.Result{}, err
	}
	ready := 0
	for _, pod := range pods.Items {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	text := strconv.Itoa(ready)
	if asked.Annotations[counted] == text {
		return ctrl.Result{}, nil
	}
	before := asked.DeepCopy()
	metav1.SetMetaDataAnnotation(&asked.ObjectMeta, counted, text)
	return ctrl.Result{}, r.Patch(ctx, asked, client.MergeFrom(before))
}

// release deletes the Deployment in the foreground, and lets the config map go once it is gone.
func (r *reconciler) release(ctx context.Context, asked *corev1.ConfigMap) (ctrl.Result, error) {
	var kept appsv1.Deployment
	err := r.Get(ctx, types.NamespacedName{Namespace: asked.Namespace, Name: asked.Name}, &kept)
	if err == nil {
		return ctrl.Result{}, client.IgnoreNotFound(r.Delete(ctx, &kept, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	}
	if !apierrors.IsNotFound(err) {
		return ctrl.Result{}, err
	}
	controllerutil.RemoveFinalizer(asked, finalizer)
	return ctrl.Result{}, r.Update(ctx, asked)
}

func run() error {
	ctrl.SetLogger(zap.New())
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		LeaderElection:          true,
		LeaderElectionID:        "operator.example.test",
		LeaderElectionNamespace: "default",
		Metrics:                 server.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
	})
	if err != nil {
		return err
	}
	ofPod := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
		name := types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()["app"]}
		return []reconcile.Request{{NamespacedName: name}}
	})
	err = ctrl.NewControllerManagedBy(manager).
		For(&corev1.ConfigMap{}).
		Owns(&appsv1.Deployment{}).
		Watches(&corev1.Pod{}, ofPod).
		Complete(&reconciler{Client: manager.GetClient(), recorder: manager.GetEventRecorderFor("operator")})
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
