package deploytest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

const kubernetes = "../../deploy/kubernetes"

// manifests holds the objects of the folder, each kind by name.
type manifests struct {
	deployments map[string]*appsv1.Deployment
	jobs        map[string]*batchv1.Job
	services    map[string]*corev1.Service
	configs     map[string]*corev1.ConfigMap
	secrets     map[string]*corev1.Secret
	budgets     map[string]*policyv1.PodDisruptionBudget
}

// read decodes all files strictly: an unknown or duplicate key is an error.
func read(t *testing.T) manifests {
	t.Helper()
	m := manifests{
		map[string]*appsv1.Deployment{}, map[string]*batchv1.Job{}, map[string]*corev1.Service{},
		map[string]*corev1.ConfigMap{}, map[string]*corev1.Secret{}, map[string]*policyv1.PodDisruptionBudget{},
	}
	files, err := filepath.Glob(filepath.Join(kubernetes, "*.yaml"))
	if err != nil || len(files) < 7 {
		t.Fatalf("found %d manifests: %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range bytes.SplitSeq(data, []byte("\n---\n")) {
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal(part, &kind); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			switch kind.APIVersion + " " + kind.Kind {
			case "apps/v1 Deployment":
				put(t, file, part, m.deployments)
			case "batch/v1 Job":
				put(t, file, part, m.jobs)
			case "v1 Service":
				put(t, file, part, m.services)
			case "v1 ConfigMap":
				put(t, file, part, m.configs)
			case "v1 Secret":
				put(t, file, part, m.secrets)
			case "policy/v1 PodDisruptionBudget":
				put(t, file, part, m.budgets)
			case "kustomize.config.k8s.io/v1beta1 Kustomization":
				checkKustomization(t, part, files)
			default:
				t.Errorf("%s has %s %s, which is not checked", file, kind.APIVersion, kind.Kind)
			}
		}
	}
	return m
}

func put[T any, P interface {
	*T
	metav1.Object
}](t *testing.T, file string, data []byte, into map[string]P) {
	t.Helper()
	v := P(new(T))
	if err := yaml.UnmarshalStrict(data, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if v.GetNamespace() != "" {
		t.Errorf("%s names the namespace %s; the one of the context counts", file, v.GetNamespace())
	}
	into[v.GetName()] = v
}

// checkKustomization checks that the kustomization applies every file except the example of the
// secret.
func checkKustomization(t *testing.T, data []byte, files []string) {
	t.Helper()
	var k struct {
		metav1.TypeMeta `json:",inline"`
		Resources       []string `json:"resources"`
		Images          []struct {
			Name   string `json:"name"`
			NewTag string `json:"newTag"`
		} `json:"images"`
	}
	if err := yaml.UnmarshalStrict(data, &k); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if want := name != "kustomization.yaml" && name != "secret.example.yaml"; slices.Contains(k.Resources,
			name) != want {
			t.Errorf("kustomization.yaml has %s: %t", name, !want)
		}
	}
}

// pods returns all pod templates by the name of the object that creates them.
func (m manifests) pods() map[string]corev1.PodTemplateSpec {
	out := map[string]corev1.PodTemplateSpec{}
	for name, d := range m.deployments {
		out[name] = d.Spec.Template
	}
	for name, j := range m.jobs {
		out[name] = j.Spec.Template
	}
	return out
}

// TestManifests checks that the manifests are valid, fit together, and grant pods no unneeded
// permissions.
func TestManifests(t *testing.T) {
	t.Parallel()
	m := read(t)
	if len(m.deployments) != 2 || len(m.jobs) != 1 || len(m.services) != 1 || len(m.budgets) != 2 {
		t.Errorf("%d deployments, %d jobs, %d services, %d budgets", len(m.deployments), len(m.jobs), len(m.services),
			len(m.budgets))
	}
	for name, pod := range m.pods() {
		checkSecurity(t, name, pod.Spec)
		checkReferences(t, m, name, pod.Spec)
	}
	for name, d := range m.deployments {
		if !selects(d.Spec.Selector, d.Spec.Template) {
			t.Errorf("%s does not select its own pods", name)
		}
		checkProbes(t, name, d.Spec.Template.Spec.Containers[0])
		if grace := d.Spec.Template.Spec.TerminationGracePeriodSeconds; grace == nil || *grace < 60 {
			t.Errorf("%s has %v s to end", name, grace)
		}
		covered := 0
		for _, b := range m.budgets {
			if selects(b.Spec.Selector, d.Spec.Template) {
				covered++
			}
		}
		if covered != 1 {
			t.Errorf("%s has %d disruption budgets", name, covered)
		}
	}
	for name, s := range m.services {
		serve := m.deployments["hocket-serve"].Spec.Template
		if !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(serve.Labels)) ||
			labels.SelectorFromSet(s.Spec.Selector).Matches(
				labels.Set(m.deployments["hocket-worker"].Spec.Template.Labels)) {
			t.Errorf("the service %s selects other pods than the servers", name)
		}
		for _, p := range s.Spec.Ports {
			if !slices.ContainsFunc(serve.Spec.Containers[0].Ports, func(c corev1.ContainerPort) bool {
				return intstr.FromString(c.Name) == p.TargetPort
			}) {
				t.Errorf("the service %s leads to the port %s, which the servers do not have", name,
					p.TargetPort.String())
			}
		}
	}
	for name, s := range m.secrets {
		for key, v := range s.StringData {
			if v != "" {
				t.Errorf("the secret %s has a value for %s", name, key)
			}
		}
		for key, v := range s.Data {
			if len(v) > 0 {
				t.Errorf("the secret %s has a value for %s", name, key)
			}
		}
	}
}

func selects(s *metav1.LabelSelector, pod corev1.PodTemplateSpec) bool {
	sel, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && sel.Matches(labels.Set(pod.Labels))
}

// checkSecurity checks the requirements of the Kubernetes standard "restricted", and that the root
// is read-only.
func checkSecurity(t *testing.T, name string, pod corev1.PodSpec) {
	t.Helper()
	sc := pod.SecurityContext
	if sc == nil || sc.RunAsNonRoot == nil || !*sc.RunAsNonRoot || sc.RunAsUser == nil || *sc.RunAsUser == 0 ||
		sc.SeccompProfile == nil || sc.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s may run as root, or without a profile of system calls", name)
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Errorf("%s gets a token of the cluster", name)
	}
	for _, c := range pod.Containers {
		sc := c.SecurityContext
		if sc == nil || sc.ReadOnlyRootFilesystem == nil || !*sc.ReadOnlyRootFilesystem ||
			sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation ||
			sc.Capabilities == nil || !slices.Contains(sc.Capabilities.Drop, "ALL") {
			t.Errorf("%s has rights that it does not need", name)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s does not say what it needs", name)
		}
	}
}

// checkReferences checks that everything pods read from config maps and secrets exists, and that
// every mount has a volume.
func checkReferences(t *testing.T, m manifests, name string, pod corev1.PodSpec) {
	t.Helper()
	hasKey := func(secret, key string) bool {
		s := m.secrets[secret]
		if s == nil {
			return false
		}
		_, data := s.Data[key]
		_, text := s.StringData[key]
		return data || text
	}
	mounts := map[string]string{}
	for _, v := range pod.Volumes {
		switch {
		case v.Secret != nil:
			if v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440 || pod.SecurityContext.FSGroup == nil {
				t.Errorf("%s: Hocket refuses a key file that others can read, and cannot read one without a group",
					name)
			}
			for _, item := range v.Secret.Items {
				if !hasKey(v.Secret.SecretName, item.Key) {
					t.Errorf("%s mounts %s of the secret %s, which has none", name, item.Key, v.Secret.SecretName)
				}
				mounts[v.Name] = item.Path
			}
		case v.ConfigMap != nil:
			if m.configs[v.ConfigMap.Name] == nil {
				t.Errorf("%s mounts the config map %s, which is not there", name, v.ConfigMap.Name)
				continue
			}
			for key := range m.configs[v.ConfigMap.Name].Data {
				mounts[v.Name] = key
			}
		default:
			mounts[v.Name] = ""
		}
	}
	files := map[string]bool{}
	for _, v := range pod.Containers[0].VolumeMounts {
		file, ok := mounts[v.Name]
		if !ok {
			t.Errorf("%s mounts %s, which is no volume", name, v.Name)
		}
		files[filepath.Join(v.MountPath, file)] = true
	}
	for _, e := range pod.Containers[0].Env {
		if ref := e.ValueFrom; ref != nil && !hasKey(ref.SecretKeyRef.Name, ref.SecretKeyRef.Key) {
			t.Errorf("%s takes %s from %s of the secret %s, which has none", name, e.Name, ref.SecretKeyRef.Key,
				ref.SecretKeyRef.Name)
		}
		if strings.HasPrefix(e.Value, "/") && !files[e.Value] {
			t.Errorf("%s: %s is %s, which is not mounted", name, e.Name, e.Value)
		}
	}
}

// checkProbes checks that probes use a port of the container and name a host that Hocket accepts.
func checkProbes(t *testing.T, name string, c corev1.Container) {
	t.Helper()
	for path, p := range map[string]*corev1.Probe{"/readyz": c.ReadinessProbe, "/healthz": c.LivenessProbe} {
		if p == nil || p.HTTPGet == nil || p.HTTPGet.Path != path ||
			p.HTTPGet.Port != intstr.FromString(c.Ports[0].Name) ||
			!slices.Contains(p.HTTPGet.HTTPHeaders, corev1.HTTPHeader{Name: "Host", Value: "localhost"}) {
			t.Errorf("%s: the probe of %s is %+v", name, path, p)
		}
	}
}

// TestPlaces checks that all pods share one place: the names of pods and containers change, so that
// otherwise a run that needs a machine's files or programs would wait for a machine that no longer
// exists.
func TestPlaces(t *testing.T) {
	t.Parallel()
	m := read(t)
	files := map[string]string{"configmap.yaml": m.configs["hocket"].Data["hocket.yaml"]}
	data, err := os.ReadFile("../../deploy/compose/hocket.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files["deploy/compose/hocket.yaml"] = string(data)
	for name, text := range files {
		var c struct{ Server struct{ Place string } }
		if err := yaml.Unmarshal([]byte(text), &c); err != nil || c.Server.Place == "" {
			t.Errorf("%s names no place: %v", name, err)
		}
	}
	for name, pod := range m.pods() {
		if slices.Contains(pod.Spec.Containers[0].Args, "--place") {
			t.Errorf("%s has a place of its own", name)
		}
	}
}

// TestManifestsCommands checks that the program knows the commands and flags of the pods, and that
// its configuration is valid.
func TestManifestsCommands(t *testing.T) {
	t.Parallel()
	m, bin := read(t), program(t, "")
	for name, pod := range m.pods() {
		args := pod.Spec.Containers[0].Args
		if out, err := exec.CommandContext(t.Context(), bin, append(slices.Clone(args), "--help")...).
			CombinedOutput(); err != nil {
			t.Errorf("%s: hocket %s: %v: %s", name, strings.Join(args, " "), err, out)
		}
	}
	for name, c := range m.configs {
		home := t.TempDir()
		file := filepath.Join(home, "hocket.yaml")
		if err := os.WriteFile(file, []byte(c.Data["hocket.yaml"]), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), bin, "runs", "--db", ":memory:", "--config", file)
		cmd.Env = []string{"HOCKET_HOME=" + home}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("hocket.yaml of %s: %v: %s", name, err, out)
		}
	}
}
