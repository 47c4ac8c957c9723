package container

// podRole is what codemode must be allowed to do in a namespace.
const podRole = "Give this user a role there: kubectl create role codemode --verb=create,get,list,watch,delete,patch " +
	"--resource=pods,pods/exec,leases.coordination.k8s.io,networkpolicies.networking.k8s.io; and bind it."

// podSymptoms are what kubectl and clusters say, read from those of 1.34 (November 2026). The troubles of a pod begin
// with the reason that the cluster gives.
var podSymptoms = []symptom{
	{"", []string{"certificate has expired or is not yet valid"}, "clock", []string{
		"See that this machine's clock is right (`date`); if it is, the certificate has to be renewed.",
	}},
	{"", []string{"server localhost:8080 was refused"}, "context", []string{
		"kubectl has no cluster to ask: no kubeconfig was found, or it has no current context. Name the file in KUBECONFIG, " +
			"or choose a context: `kubectl config get-contexts`, `sandbox.kubernetes.context`.",
	}},
	{"", []string{"enter Username", "enter Password"}, "credentials", []string{
		"The context has no credentials, so that kubectl asks for some: sign in to the cluster, as for kubectl.",
	}},
	{"", []string{"context was not found", "does not exist", "no context exists"}, "context", []string{
		"`kubectl config get-contexts` lists those there are; set `sandbox.kubernetes.context` to one.",
	}},
	{
		"",
		[]string{"Unauthorized", "You must be logged in", "provide credentials", "getting credentials"},
		"credentials",
		[]string{"Sign in to the cluster again, as for kubectl: `kubectl auth whoami` tells whether it knows you."},
	},
	{"", []string{"because it is being terminated"}, "namespace", []string{
		"Wait until the namespace is gone and make it anew, or set `sandbox.kubernetes.namespace` to another.",
	}},
	{"", []string{"namespaces \""}, "namespace", []string{
		"Make it: kubectl create namespace NAME; or set `sandbox.kubernetes.namespace` to another.",
	}},
	{"", []string{"exceeded quota", "failed quota", "usage per Container", "usage per Pod"}, "quota", []string{
		"`kubectl describe quota` tells what is used, `kubectl describe limits` what one pod may have; " +
			"close sessions, lower `sandbox.memory` and `sandbox.cpus`, or have it raised.",
	}},
	{
		"",
		[]string{
			"violates PodSecurity", "admission webhook", "denied the request", "denied request",
			"unable to validate against",
		},
		"admission",
		[]string{
			"Have the cluster's administrator admit pods of Pod Security `restricted`; " +
				"`sandbox.kubernetes.template` may give labels that a policy asks for.",
		},
	},
	{"", []string{"no matches for kind \"SandboxClaim\"", noClaims}, codeWarmPool, []string{
		"Install agent-sandbox with its extensions (https://agent-sandbox.sigs.k8s.io), or unset " +
			"`sandbox.kubernetes.warm_pool`.",
	}},
	{"", []string{"WarmPoolNotFound", "TemplateNotFound", "NoGuest: "}, codeWarmPool, []string{
		"Make the pool: codemode image warm-pool | kubectl apply --filename -; its name is `sandbox.kubernetes.warm_pool`.",
	}},
	{"", []string{"error looking up service account", "no PriorityClass with name"}, "admission", []string{
		"Correct `serviceAccountName` or `priorityClassName` in `sandbox.kubernetes.template`.",
	}},
	{"", []string{"RuntimeClass"}, "runtime-class", []string{
		"`kubectl get runtimeclasses` lists those there are; set `sandbox.kubernetes.runtime_class` to one.",
	}},
	{
		"",
		[]string{"is forbidden: User", "cannot create resource", "cannot get resource", "cannot list resource"},
		codePermission,
		[]string{podRole},
	},
	{"", []string{"Unschedulable", "SchedulerError"}, "unschedulable", []string{
		"Free or add nodes, or ask for less (`resources.requests` in `sandbox.kubernetes.template`).",
	}},
	{
		"",
		[]string{"python3\": executable file not found", "python3: no such file", "exec: \"python3\""},
		"image-python",
		[]string{"Set `sandbox.image` to an image that has python3 3.9 or later on its PATH."},
	},
	{"", []string{"ErrImage", "ImagePullBackOff", "InvalidImageName", "RegistryUnavailable"}, "image-missing", []string{
		"Set `sandbox.image`, or of a server its `sandbox_image`, to one that the nodes can pull; " +
			"`sandbox.kubernetes.template` may have imagePullSecrets.",
	}},
	{"", []string{"Evicted", "Preempt"}, "evicted", []string{
		"The node was short of something: try again, or have `sandbox.kubernetes.template` choose other nodes.",
	}},
	{"", []string{"Deleted: "}, "deleted", []string{"Try again; `kubectl get events` may tell who it was."}},
	{"", []string{"the network is open"}, "network", []string{
		"The node's runtime does not let processes filter system calls: use another runtime class or other nodes.",
	}},
	{
		"",
		[]string{
			"was refused", "connection refused", "no such host", "Unable to connect", "i/o timeout", "handshake",
			"certificate",
		},
		"daemon",
		[]string{
			"See that kubectl reaches the cluster: kubectl cluster-info; `sandbox.kubernetes.context` chooses another.",
		},
	},
}
