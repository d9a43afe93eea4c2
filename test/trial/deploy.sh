#!/usr/bin/env bash
# deploy.sh - what lies in deploy/compose and deploy/kubernetes, held against the schemas of compose and
# Kubernetes, and shown to the programs that will read it: those that are here. HAProxy's two
# configurations are run for real before stand-ins of nodes; `make manifests`.
set -u
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=
check() # CODE WHAT
{
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $2: $(tail -n 5 "$work/said" 2>/dev/null)"; fi
}
have() # PROGRAM WHAT: is it here? else it is told at the end
{
    command -v "$1" >/dev/null && return
    skipped+="  not checked, as there is no $1: $2"$'\n'
    return 1
}
c=deploy/compose k=deploy/kubernetes

node test/deploy/schemas.mjs compose $c/compose.yaml $c/watch.yaml $c/cluster.yaml >"$work/said" 2>&1
check $? "compose files"
if have kubectl "deploy/kubernetes as kustomize joins it"; then
    kubectl kustomize $k >"$work/all.yaml" 2>"$work/said"
    check $? "kustomize"
    node test/deploy/schemas.mjs kubernetes "$work/all.yaml" >"$work/said" 2>&1
    check $? "manifests"
    # and it can fail: a typing mistake is none of the fields there are
    sed 's/failureThreshold/failureTreshold/' "$work/all.yaml" >"$work/wrong.yaml"
    ! node test/deploy/schemas.mjs kubernetes "$work/wrong.yaml" >"$work/said" 2>&1
    check $? "a typing mistake passes"
    grep -q 'name: abrd-decide-[0-9a-z]*$' "$work/all.yaml"
    check $? "names of configurations change with them"
else
    node test/deploy/schemas.mjs kubernetes $k/decide.yaml $k/learn.yaml $k/balancer.yaml $k/autoscale.yaml $k/network.yaml >"$work/said" 2>&1
    check $? "manifests"
fi

node test/deploy/schemas.mjs kubernetes $k/ingress.yaml >"$work/said" 2>&1
check $? "the example of an ingress"
# every policy selects pods that there are, and names a peer that there is
node test/deploy/policies.mjs $k/network.yaml $k/decide.yaml $k/learn.yaml $k/balancer.yaml >"$work/said" 2>&1
check $? "network policies"

# the rules as a PrometheusRule, as watch.yaml says
{ cat $k/rules-head.yaml; sed 's/^/  /' deploy/alerts.yml; } >"$work/rules.yaml"
node test/deploy/schemas.mjs rules "$work/rules.yaml" deploy/alerts.yml >"$work/said" 2>&1
check $? "alerts.yml as a PrometheusRule"

if have docker-compose "compose files, read by compose itself"; then
    cp -r deploy "$work/"
    sh "$work/$c/secrets.sh" >"$work/said" 2>&1
    check $? "secrets.sh"
    # Debian's (1.29) does not know this field yet
    sed -i '/^name:/d' "$work/$c"/*.yaml
    for f in compose.yaml cluster.yaml; do
        docker-compose -f "$work/$c/$f" config >"$work/said" 2>&1
        check $? "docker-compose config $f"
    done
fi

if have promtool "prometheus.yml"; then
    for f in prometheus.yml prometheus-cluster.yml; do
        sed "s,/etc/prometheus/alerts.yml,$PWD/deploy/alerts.yml," $c/$f >"$work/$f"
        promtool check config "$work/$f" >"$work/said" 2>&1
        check $? "promtool check config $f"
    done
fi

if have nats-server "nats.conf"; then
    NATS_NAME=nats1 nats-server -t -c $c/nats.conf >"$work/said" 2>&1
    check $? "nats-server -t"
fi

if have haproxy "haproxy.cfg, both, and where they send sessions"; then
    for f in $c/haproxy.cfg $k/haproxy.cfg deploy/haproxy.cfg; do
        haproxy -c -f $f >"$work/said" 2>&1
        check $? "haproxy -c -f $f"
    done
    for f in $c/haproxy.cfg $k/haproxy.cfg; do
        node test/trial/deploy_route.mjs $f >"$work/said" 2>&1
        check $? "sessions through $f"
        cat "$work/said"
    done
fi

printf '%s' "$skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
