/**
 * A network of machines on Linux, for a test that runs as root: each has a network namespace of its own, and
 * a link to the others that can be cut. Processes of the test hold the namespaces, and all processes end with
 * the test's, however that ends; the kernel then removes the rest.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Of the addresses that RFC 2544 sets aside for tests of networks. */
const network = `198.18.${process.pid % 256}`;
const ownLink = `tg${process.pid}`;
/** A child that dies when the thread does that started it. */
const withTest = ['setpriv', '--pdeathsig', 'KILL'];

interface User {
  readonly uid: number;
  readonly gid: number;
}

export class TestMachine {
  readonly name: string;
  readonly address: string;
  /** The beginning of a command that runs in its network. */
  readonly entrance: readonly string[];
  readonly log: string;
  readonly #switch: readonly string[];
  readonly #running = new Set<ChildProcess>();

  constructor(
    { name, address, log }: Pick<TestMachine, 'name' | 'address' | 'log'>,
    entrance: readonly string[],
    atSwitch: readonly string[],
  ) {
    [this.name, this.address, this.log] = [name, address, log];
    [this.entrance, this.#switch] = [entrance, atSwitch];
  }

  /** Starts a program, in a process namespace of its own: what it starts ends with it. */
  run(command: readonly string[], user: User = { uid: 0, gid: 0 }): void {
    const { uid, gid } = user;
    const inside = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', 'setpriv'];
    const as = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--pdeathsig', 'KILL'];
    const [program = '', ...args] = [...this.entrance, ...inside, ...as, ...command];
    const log = openSync(this.log, 'a');
    const child = spawn(program, args, { stdio: ['ignore', log, log], cwd: tmpdir() });
    closeSync(log);
    this.#running.add(child.once('exit', () => this.#running.delete(child)));
  }

  /** Ends all of its programs at once, as the loss of its power does. */
  killAll(): void {
    for (const child of this.#running) child.kill('SIGKILL');
  }

  /** What a command prints that runs there. */
  execute(command: readonly string[]): string {
    const [program = '', ...args] = [...this.entrance, ...command];
    return execFileSync(program, args, { encoding: 'utf8', timeout: 10_000 }).trim();
  }

  cutLink(): void {
    this.#setLink('down');
  }

  restoreLink(): void {
    this.#setLink('up');
  }

  #setLink(state: 'up' | 'down'): void {
    const [program = '', ...args] = [...this.#switch, 'ip', 'link', 'set', this.name, state];
    execFileSync(program, args);
  }
}

export class TestNetwork {
  readonly folder = mkdtempSync(join(tmpdir(), 'tollgate-network-'));
  /** The test's own. */
  readonly address = `${network}.1`;
  /** In the form of PostgreSQL's and other rules. */
  readonly range = `${network}.0/24`;
  readonly #holders: ChildProcess[] = [];
  readonly #machines: TestMachine[] = [];
  #switch: readonly string[] = [];

  /** Makes the switch, and the link by which the test reaches the machines. */
  async open(): Promise<void> {
    // Other users than root have files in it.
    chmodSync(this.folder, 0o755);
    const pid = await this.#holdNamespace();
    this.#switch = enterNamespace(pid);
    execute(['ip', 'link', 'add', ownLink, 'type', 'veth', 'peer', 'name', 'test', 'netns', String(pid)]);
    execute(['ip', 'address', 'add', `${this.address}/24`, 'dev', ownLink]);
    execute(['ip', 'link', 'set', ownLink, 'up']);
    this.#change('ip link add switch type bridge', 'ip link set switch up');
    this.#change('ip link set test master switch', 'ip link set test up');
  }

  /** A name has at most 15 characters, as that of its link. */
  async addMachine(name: string): Promise<TestMachine> {
    const pid = await this.#holdNamespace();
    const entrance = enterNamespace(pid);
    const address = `${network}.${10 + this.#machines.length}`;
    this.#change(`ip link add ${name} type veth peer name eth0 netns ${pid}`);
    this.#change(`ip link set ${name} master switch`, `ip link set ${name} up`);
    for (const line of ['link set lo up', `address add ${address}/24 dev eth0`, 'link set eth0 up'])
      execute([...entrance, 'ip', ...line.split(' ')]);
    const log = join(this.folder, `${name}.log`);
    const machine = new TestMachine({ name, address, log }, [...withTest, ...entrance], this.#switch);
    this.#machines.push(machine);
    return machine;
  }

  /** A program that runs Node on a machine, in the place of Node. */
  writeNode(machine: TestMachine): string {
    const file = join(this.folder, `node-${machine.name}`);
    const command = [...machine.entrance, process.execPath].join(' ');
    writeFileSync(file, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
    return file;
  }

  /** The ends of the machines' logs, to find out why a test failed. */
  readLogs(lines: number): string {
    const readEnd = ({ name, log }: TestMachine): string =>
      `${name}:\n${readFileSync(log, { encoding: 'utf8', flag: 'a+' }).split('\n').slice(-lines).join('\n')}`;
    return this.#machines.map(readEnd).join('\n');
  }

  close(): void {
    for (const machine of this.#machines) machine.killAll();
    for (const holder of this.#holders) holder.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }

  #change(...lines: readonly string[]): void {
    for (const line of lines) execute([...this.#switch, ...line.split(' ')]);
  }

  /** Starts a process that does nothing in a network of its own, and returns its id. */
  async #holdNamespace(): Promise<number> {
    const [program = '', ...args] = [...withTest, 'unshare', '--net', 'sleep', 'infinity'];
    const holder = spawn(program, args, { stdio: 'ignore' });
    this.#holders.push(holder);
    const own = readlinkSync('/proc/self/ns/net');
    for (let tries = 0; tries < 3000; tries += 1) {
      if (holder.pid !== undefined && readlinkSync(`/proc/${holder.pid}/ns/net`) !== own) return holder.pid;
      await sleep(10);
    }
    throw new Error('no network namespace: this needs root');
  }
}

function enterNamespace(pid: number): readonly string[] {
  return ['nsenter', `--net=/proc/${pid}/ns/net`];
}

function execute([program = '', ...args]: readonly string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}
