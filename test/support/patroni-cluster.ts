/**
 * PostgreSQL with a synchronous standby, kept by Patroni and etcd behind HAProxy. Each is a Debian package on
 * a machine of a test's network.
 */
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { TestMachine, TestNetwork } from './test-network.ts';

/** The user that Debian's packages make. */
const user = { uid: 101, gid: 104 };
const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
const programs = join('/usr/lib/postgresql', versions.at(-1) ?? 'none', 'bin');
const ports = { postgres: 5432, patroni: 8008, etcd: 2379, peer: 2380 };

/** A machine with Patroni, which starts PostgreSQL. */
export class Member {
  readonly machine: TestMachine;
  readonly #config: string;

  constructor(machine: TestMachine, { folder, range }: TestNetwork, etcd: TestMachine) {
    this.machine = machine;
    const { name, address } = machine;
    this.#config = join(folder, `${name}.yml`);
    const data = join(folder, name);
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, user.uid, user.gid);
    const [rest, server] = [`${address}:${ports.patroni}`, `${address}:${ports.postgres}`];
    const config = {
      scope: 'ledger',
      name,
      restapi: { listen: rest, connect_address: rest },
      etcd3: { host: `${etcd.address}:${ports.etcd}` },
      bootstrap: {
        dcs: {
          ttl: 20,
          loop_wait: 2,
          retry_timeout: 5,
          synchronous_mode: true,
          // Strict, two machines would write nothing while one is away.
          synchronous_mode_strict: false,
          postgresql: {
            use_pg_rewind: true,
            // A standby that is cut off holds up commits for no longer than a failover does.
            parameters: { max_connections: 60, shared_buffers: '32MB', wal_sender_timeout: '10s' },
          },
        },
        initdb: ['data-checksums', { encoding: 'UTF8' }, { locale: 'C' }],
        pg_hba: [`host all all ${range} trust`, `host replication all ${range} trust`],
      },
      postgresql: {
        listen: server,
        connect_address: server,
        data_dir: join(data, 'data'),
        bin_dir: programs,
        pgpass: join(data, 'pgpass'),
        parameters: { unix_socket_directories: data },
        // A new copy does not wait for the next checkpoint, which may be minutes away.
        basebackup: { checkpoint: 'fast' },
        authentication: {
          superuser: { username: 'postgres', password: 'keeper' },
          replication: { username: 'copier', password: 'keeper' },
          rewind: { username: 'rewinder', password: 'keeper' },
        },
      },
    };
    // JSON is YAML.
    writeFileSync(this.#config, JSON.stringify(config));
  }

  start(): void {
    this.machine.run(['/usr/bin/patroni', this.#config], user);
  }

  /** Whether it is the `primary`, or the standby whose copy commits wait for (`sync`). */
  async is(path: 'primary' | 'sync'): Promise<boolean> {
    const url = `http://${this.machine.address}:${ports.patroni}/${path}`;
    const asked = fetch(url, { signal: AbortSignal.timeout(2000) });
    return (await asked.catch(() => undefined))?.status === 200;
  }

  /** Whether its PostgreSQL is a standby, which takes no writes, asked on the machine itself. */
  isStandby(): boolean {
    const address = `postgres://postgres@${this.machine.address}:${ports.postgres}/postgres`;
    const asked = [join(programs, 'psql'), address, '-Atc', 'SELECT pg_is_in_recovery()'];
    try {
      return this.machine.execute(asked) === 't';
    } catch {
      // It is stopped, or is just starting.
      return false;
    }
  }
}

function startEtcd(machine: TestMachine, folder: string): void {
  const buildUrl = (port: number): string => `http://${machine.address}:${port}`;
  const options = {
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': buildUrl(ports.etcd),
    'advertise-client-urls': buildUrl(ports.etcd),
    'listen-peer-urls': buildUrl(ports.peer),
    'initial-advertise-peer-urls': buildUrl(ports.peer),
    'initial-cluster': `default=${buildUrl(ports.peer)}`,
  };
  machine.run(['/usr/bin/etcd', ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])]);
}

/** HAProxy sends connections to the member whose Patroni says that it is the primary. */
function startBalancer(machine: TestMachine, folder: string, members: readonly Member[]): void {
  const file = join(folder, 'haproxy.cfg');
  const servers = members.map(({ machine: { name, address } }) => `${name} ${address}:${ports.postgres}`);
  const lines = [
    'global',
    '  maxconn 200',
    'defaults',
    '  mode tcp',
    '  timeout connect 2s',
    '  timeout client 1h',
    '  timeout server 1h',
    'listen database',
    `  bind ${machine.address}:${ports.postgres}`,
    '  option httpchk OPTIONS /primary',
    '  http-check expect status 200',
    '  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions',
    ...servers.map((server) => `  server ${server} check port ${ports.patroni}`),
    '',
  ];
  writeFileSync(file, lines.join('\n'));
  machine.run(['/usr/sbin/haproxy', '-f', file, '-db']);
}

export class PatroniCluster {
  readonly url: string;
  readonly #members: readonly Member[];

  private constructor(url: string, members: readonly Member[]) {
    [this.url, this.#members] = [url, members];
  }

  static async start(network: TestNetwork): Promise<PatroniCluster> {
    const { folder } = network;
    const etcd = await network.addMachine('etcd');
    startEtcd(etcd, folder);
    const members: Member[] = [];
    for (const name of ['one', 'two'])
      members.push(new Member(await network.addMachine(name), network, etcd));
    for (const member of members) member.start();
    const balancer = await network.addMachine('balancer');
    startBalancer(balancer, folder, members);
    const url = `postgres://postgres:keeper@${balancer.address}:${ports.postgres}/postgres`;
    return new PatroniCluster(url, members);
  }

  /** Resolves once there is a primary, and a standby that has all of its commits. */
  findMembers(): Promise<Record<'primary' | 'standby', Member>> {
    const look = async (): Promise<Record<'primary' | 'standby', Member> | undefined> => {
      const primaries = await Promise.all(this.#members.map((member) => member.is('primary')));
      const standbys = await Promise.all(this.#members.map((member) => member.is('sync')));
      const primary = this.#members[primaries.indexOf(true)];
      const standby = this.#members[standbys.indexOf(true)];
      return primary && standby && { primary, standby };
    };
    return vi.waitUntil(look, { timeout: 180_000, interval: 200 });
  }
}
