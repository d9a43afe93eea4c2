// cluster_net.mjs - hosts for a trial: a network namespace each, joined by a bridge (iproute2, root).
// A host runs a process, can be cut off, and is gone when the trial ends.
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';

const ip = (...args) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
const tag = `ab${process.pid % 10000}`;
const net = `10.${100 + process.pid % 100}.77`;
const hosts = [];

export function networkUp() {
    if (process.getuid() !== 0) throw new Error('make cluster makes network namespaces: it needs root');
    ip('link', 'add', tag, 'type', 'bridge');
    ip('addr', 'add', `${net}.1/24`, 'dev', tag);
    ip('link', 'set', tag, 'up');
    process.on('exit', networkDown);
    for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => process.exit(1));
}

function networkDown() {
    for (const h of hosts) {
        h.child?.kill('SIGKILL');
        try { ip('netns', 'del', h.ns); } catch { /* it is gone */ }
    }
    try { ip('link', 'del', tag); } catch { /* it is gone */ }
}

export class Host {
    /** @param {string} name @param {number} n the last byte of its address */
    constructor(name, n) {
        this.name = name;
        this.ns = `${tag}-${name}`;
        this.ip = `${net}.${n}`;
        this.veth = `${tag}v${n}`;
        this.restarts = 0;
        ip('netns', 'add', this.ns);
        hosts.push(this);
        ip('link', 'add', this.veth, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.ns);
        ip('link', 'set', this.veth, 'master', tag, 'up');
        ip('-n', this.ns, 'addr', 'add', `${this.ip}/24`, 'dev', 'eth0');
        ip('-n', this.ns, 'link', 'set', 'eth0', 'up');
        ip('-n', this.ns, 'link', 'set', 'lo', 'up');
    }

    /** What it runs; start() after kill() runs it again. */
    start(argv = this.argv) {
        this.argv = argv;
        this.output ??= '';
        const child = this.child = spawn('ip', ['netns', 'exec', this.ns, ...argv],
            { stdio: ['ignore', 'pipe', 'pipe'] });
        for (const s of [child.stdout, child.stderr])
            s.on('data', d => {
                this.output += d;
                if (this.log) appendFileSync(this.log, d);
            });
        this.alive = true;
        this.gone = new Promise(resolve => child.on('exit', (code, signal) => {
            if (this.child === child) this.alive = false;
            resolve({ code, signal });
        }));
        return this;
    }

    async kill(signal = 'SIGKILL') {
        this.child.kill(signal);
        return this.gone;
    }

    cut(yes) { ip('link', 'set', this.veth, yes ? 'down' : 'up'); }

    /** Stands still for so much of every period, until the function that is returned is called. */
    limp(stillMs, periodMs) {
        const timer = setInterval(() => {
            this.child.kill('SIGSTOP');
            setTimeout(() => this.child.kill('SIGCONT'), stillMs);
        }, periodMs);
        return () => clearInterval(timer);
    }

    /** CPU seconds of its process so far. */
    cpu() {
        const fields = readFileSync(`/proc/${this.child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
        return (Number(fields[11]) + Number(fields[12])) / 100;
    }
}
