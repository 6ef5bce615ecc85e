#!/bin/bash
# A parameter server on the first node, and a worker of train.py on each other one: sbatch slurm.sh
#SBATCH --job-name=train
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --time=24:00:00

hosts=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
port=$((10000 + SLURM_JOB_ID % 50000))
workers=$(printf ", \"%s:$port\"" "${hosts[@]:1}")
export CLUSTER="{\"ps\": [\"${hosts[0]}:$port\"], \"worker\": [${workers:2}]}"

# Becomes a run of train.py on each of some nodes, as the tasks of a job: run JOB NODE...
run() {
  local nodes
  nodes=$(IFS=,; echo "${*:2}")
  JOB=$1 exec srun --nodes=$(($# - 1)) --ntasks=$(($# - 1)) --nodelist="$nodes" bash -c '
    export TF_CONFIG="{\"cluster\": $CLUSTER, \"task\": {\"type\": \"$JOB\", \"index\": $SLURM_PROCID}}"
    exec tfcompat run train.py --model_dir="$HOME/checkpoints"'
}

run ps "${hosts[0]}" &
server=$!
(run worker "${hosts[@]:1}")
status=$?
kill "$server"
exit "$status"
