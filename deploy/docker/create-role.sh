#!/bin/sh
# Runs once in the container of PostgreSQL, when its volume is empty. The role of the service owns its database and
# nothing else: whoever gets its password can neither read files of the server nor run programs there.
set -eu
psql --username postgres --no-psqlrc --set ON_ERROR_STOP=1 --set password="$(cat /run/secrets/guiche_password)" <<'END'
create role guiche login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'password';
create database guiche owner guiche;
revoke connect on database postgres, template1 from public;
END
