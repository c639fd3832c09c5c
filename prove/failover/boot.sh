#!/bin/sh
# The first process of a machine: waits for its cable, and starts etcd and Patroni as a machine does that was turned on.
# Runs in the machine's folder, as root of namespaces of its own.
ip link set lo up
echo up
read -r _cable
# A process of the last boot is never alive in this one, even if its number is taken again.
rm -f data/postmaster.pid
as_postgres='setpriv --reuid=postgres --regid=postgres --init-groups --'
set -a
. ./etcd.env
$as_postgres etcd >>etcd.log 2>&1 &
echo $! >etcd.pid
$as_postgres patroni patroni.yml >>patroni.log 2>&1 &
echo $! >patroni.pid
wait
