// nats.mjs - a real nats-server on a free port of this machine.
import { spawn } from 'node:child_process';
import net from 'node:net';
import { join } from 'node:path';
import { folder, until } from './daemon.mjs';

/** nats-server with JetStream; its files stay when it is killed. */
export class Nats {
    /** more: further arguments of nats-server, instead of JetStream's. */
    constructor(port, more = ['-js', '-sd', join(folder, `nats-${port}`)]) {
        this.more = more;
        this.port = port;
        this.url = `nats://127.0.0.1:${port}`;
    }

    async start() {
        this.child = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(this.port), ...this.more], { stdio: 'ignore' });
        this.child.on('error', e => { throw new Error(`nats-server: ${e.message} (make deps-test)`); });
        process.on('exit', () => this.child.kill('SIGKILL'));
        await until('nats-server to listen', () => new Promise(resolve => {
            const s = net.connect(this.port, '127.0.0.1', () => { s.destroy(); resolve(true); });
            s.on('error', () => resolve(false));
        }));
        return this;
    }

    /** It neither answers nor closes a connection until it goes on. */
    pause() {
        this.child.kill('SIGSTOP');
    }

    goOn() {
        this.child.kill('SIGCONT');
    }

    kill() {
        const gone = new Promise(resolve => this.child.on('exit', resolve));
        this.child.kill('SIGKILL');
        return gone;
    }
}
