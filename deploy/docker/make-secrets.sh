#!/bin/sh
# Writes what compose.yaml needs into secrets/, beside this file. Refuses to replace what is there: a new SECRET_KEY
# cannot decrypt what the old one encrypted.
set -eu
cd "$(dirname "$0")"
if [ -e secrets ]; then
  echo "secrets/ is there already: edit secrets/guiche.env, or remove the folder to start anew" >&2
  exit 1
fi

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
password=$(random)

umask 077
mkdir secrets
printf '%s' "$(random)" >secrets/postgres-password
printf '%s' "$password" >secrets/guiche-password
cat >secrets/guiche.env <<END
# Both containers are on this machine, in a network of their own.
DATABASE_URL=postgresql://guiche:$password@postgres:5432/guiche?sslmode=disable
SECRET_KEY=$(random)
METRICS_TOKEN=$(random)
PUBLIC_URL=http://localhost:3000
# For a live service: PUBLIC_URL=https://…, TRUST_PROXY=true, PROVIDERS=… and its variables, see docs/configuration.md
END
# Compose mounts these files with their owner and mode. The service runs as user 1000, and PostgreSQL as another one. The
# folder stays closed.
chmod 644 secrets/guiche-password secrets/postgres-password
case $(id -u) in
  0) chown 1000 secrets/guiche.env ;;
  1000) ;;
  *) chmod 644 secrets/guiche.env ;;
esac
echo "Written: secrets/guiche.env, secrets/guiche-password, secrets/postgres-password."
echo "Keep a copy of SECRET_KEY apart from the database."
