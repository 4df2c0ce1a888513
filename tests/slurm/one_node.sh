#!/usr/bin/env bash
# one_node.sh start: starts a SLURM of one node on this machine, with two units of a GPU that is not
# there. Needs root and the Debian packages slurm-wlm and munge. Does nothing if SLURM answers
# already; touches no configuration that it did not write.
# one_node.sh stop: stops the SLURM that it started and removes the configuration that it wrote: with
# one, but no SLURM, every start of Snakemake waits for an answer.
set -euo pipefail

marker="# written by gpu-tools' tests"
configuration=/etc/slurm/slurm.conf  # job steps drop SLURM_CONF, so it has to lie here
state=/var/lib/gpu-tools-slurm

answers() { timeout 5 sinfo --noheader >/dev/null 2>&1; }

wait_until() { # wait_until COMMAND...: for at most twenty seconds
  for _ in $(seq 100); do
    "$@" && return 0
    sleep 0.2
  done
  echo "SLURM does not start; see $state/*.log" >&2
  exit 1
}

node_is_there() { timeout 5 sinfo --noheader --format=%T 2>/dev/null | grep --quiet -E "^(idle|mixed|allocated)$"; }

start_munge() {
  munge --no-input >/dev/null 2>&1 && return
  [[ -s /etc/munge/munge.key ]] || dd if=/dev/urandom of=/etc/munge/munge.key bs=1024 count=1 status=none
  chown munge: /etc/munge/munge.key
  chmod 400 /etc/munge/munge.key
  install --directory --owner=munge --mode=0755 /run/munge
  setpriv --reuid=munge --regid=munge --clear-groups munged
}

write_configuration() {
  cat >/etc/slurm/gres.conf <<END
$marker
Name=gpu File=/dev/null
Name=gpu File=/dev/zero
END
  cat >"$configuration" <<END
$marker
ClusterName=gpu-tools
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
StateSaveLocation=$state/state
SlurmdSpoolDir=$state/spool
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/slurmd.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdLogFile=$state/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=2
MinJobAge=300
GresTypes=gpu
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(slurmd -C | grep --only-matching "RealMemory=[0-9]*" | cut --delimiter== --fields=2) Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
}

start() {
  if ! answers; then
    if [[ -e $configuration ]] && ! grep --quiet "$marker" "$configuration"; then
      echo "$configuration is not ours, and SLURM does not answer" >&2
      exit 1
    fi
    mkdir --parents "$state/state" "$state/spool" "$(dirname "$configuration")"
    start_munge
    write_configuration
    slurmctld
    slurmd
  fi
  wait_until node_is_there
}

stop() {
  for daemon in slurmd slurmctld; do
    if [[ -s $state/$daemon.pid ]]; then
      kill "$(<"$state/$daemon.pid")" 2>/dev/null || true
    fi
  done
  for file in "$configuration" /etc/slurm/gres.conf; do
    if [[ -e $file ]] && grep --quiet "$marker" "$file"; then
      rm "$file"
    fi
  done
}

case "${1:-}" in
  start | stop) "$1" ;;
  *) echo "usage: one_node.sh start|stop" >&2; exit 2 ;;
esac
