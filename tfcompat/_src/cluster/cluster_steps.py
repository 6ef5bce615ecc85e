class ClusterSteps: pass
