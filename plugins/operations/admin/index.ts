/**
 * The admin listener, on loopback by default. It serves the `operator` routes of all plugins, and the routes
 * that every listener has. It accepts one secret, which several gateways can share and which is otherwise
 * made on the first start, and the operator keys of the gateway.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { allowReference, definePlugin, type Keyring, type Secret } from '../../../core/index.ts';
import { readPrivateFile } from '../../shared/private-file.ts';
import { createSecret } from '../../shared/secret.ts';

/** Minimum length of a secret that the operator chose. A shorter one could be guessed. */
const shortest = 32;
const rule = `has to hold a secret of at least ${shortest} characters in one word`;

function isUsable(secret: string): boolean {
  return secret.length >= shortest && !/\s/.test(secret);
}

const secretSchema = z.string().refine((secret) => isUsable(secret.trim()), rule);

const options = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  port: z.int().min(0).max(65_535).default(8788),
  /** The secret, or a reference to it, instead of a file: for gateways that share one. */
  secret: allowReference(secretSchema).optional(),
  /** The file of the secret; `operator-secret` in the data folder unless given. */
  secretFile: z.string().min(1).optional(),
});

type Address = Pick<z.output<typeof options>, 'host' | 'port'>;

/**
 * Reads the secret, which is made on the first start. There is no default one, and the gateway shows where
 * the file is but never what is in it. Throws if the file holds no usable secret: an empty one would admit
 * everybody.
 */
function readSecret(file: string): string {
  return readPrivateFile(
    file,
    () => createSecret('operator'),
    (secret) => (isUsable(secret) ? undefined : rule),
  );
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Digests are compared instead of texts: they have the same length, and the time of the comparison reveals
 * nothing about the secret.
 */
function createKeyring(kept: () => Secret | undefined): Keyring {
  return {
    name: 'admin',
    async verify(secret) {
      const [shown, known = []] = [digest(secret), await kept()?.read()];
      if (!known.some((each) => timingSafeEqual(shown, digest(each.trim())))) return undefined;
      return { kind: 'operator', account: '', key: 'operator-secret' };
    },
  };
}

const wildcards = new Set(['0.0.0.0', '::']);

/** Throws if the gateway's public listener has this port: the admin listener would never open. */
function checkOwnPort({ host, port }: Address, listener: Address): void {
  const isSameHost = host === listener.host || wildcards.has(host) || wildcards.has(listener.host);
  if (port === 0 || port !== listener.port || !isSameHost) return;
  throw new Error(`option "port": the gateway itself listens on ${port} (server.port); choose another port`);
}

/** Milliseconds between two attempts to listen while the port is taken. */
const pause = 1000;

function isPortTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

export const admin = definePlugin({
  name: 'admin',
  options,
  apply(host, { secret, secretFile = join(host.dataFolder, 'operator-secret'), ...address }) {
    checkOwnPort(address, host.operations.listener);
    let kept: Secret | undefined;
    const stated = secret === undefined ? undefined : host.openSecret(secret, secretSchema);
    let waiting: Promise<void> | undefined;
    const closing = new AbortController();
    host.keyrings.add(createKeyring(() => kept));

    /** Undefined if the port is taken. */
    async function openListener(): Promise<string | undefined> {
      try {
        return await host.operations.openAdminListener(address);
      } catch (error) {
        if (isPortTaken(error)) return undefined;
        throw error;
      }
    }

    /**
     * Tries again until the port is free. Often the configuration before this one has it, until its last call
     * ends.
     */
    async function openLater(): Promise<void> {
      while (!closing.signal.aborted) {
        await sleep(pause, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
        const url = closing.signal.aborted ? undefined : await openListener();
        if (url !== undefined) return host.logger.info({ url }, 'the admin listener is open');
      }
    }

    host.hooks.ready.tapPromise('admin', async () => {
      kept = stated ?? host.openSecret(readSecret(secretFile));
      await kept.read();
      const url = await openListener();
      if (url !== undefined)
        return host.addNote(
          `For operators: ${url} (sign in with the ` +
            `${secret === undefined ? `secret in ${secretFile}` : 'operator secret of the configuration'})`,
        );
      // Calls are served meanwhile: another gateway on this machine must not keep this one from starting.
      host.logger.error(address, 'the admin listener stays closed while its port is taken');
      host.addNote(
        `The admin listener stays closed while port ${address.port} is taken: ` +
          'choose another port, or stop the process that uses it.',
      );
      waiting = openLater().catch((error: unknown) =>
        host.logger.error({ error, ...address }, 'the admin listener stays closed'),
      );
    });
    host.hooks.close.tapPromise('admin', async () => {
      closing.abort();
      await waiting;
    });
  },
});
