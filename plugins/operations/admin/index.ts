/**
 * The operators' door: a listener of its own, on loopback unless told otherwise, where the `operator` routes of all
 * plugins are served and nothing else. It opens to one secret, made on the first start, and to gateway keys.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { definePlugin, type Keyring } from '../../../core/index.ts';
import { readSecret } from './secret-file.ts';

const options = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  port: z.int().min(0).max(65_535).default(8788),
  /** Where the secret is kept; `operator-secret` in the data folder unless given. */
  secretFile: z.string().min(1).optional(),
});

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Digests are compared and not the texts: they are of one length, and how far two agree says nothing. */
function keyringOf(kept: () => Buffer | undefined): Keyring {
  return {
    name: 'admin',
    async verify(secret) {
      const known = kept();
      if (!known || !timingSafeEqual(digest(secret), known)) return undefined;
      return { kind: 'operator', account: '', key: 'operator-secret' };
    },
  };
}

function isPortTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

export const admin = definePlugin({
  name: 'admin',
  options,
  apply(host, { secretFile = join(host.dataFolder, 'operator-secret'), ...address }) {
    let kept: Buffer | undefined;
    host.keyrings.add(keyringOf(() => kept));
    host.hooks.ready.tapPromise('admin', async () => {
      kept = digest(readSecret(secretFile));
      try {
        host.tell(`Operators' door: ${await host.openOperatorDoor(address)}, its secret is in ${secretFile}`);
      } catch (error) {
        // Calls are served all the same: another gateway on this machine must not keep this one from starting.
        if (!isPortTaken(error)) throw error;
        host.logger.error({ error, ...address }, "the operators' door stays shut: its port is taken");
        host.tell(`The operators' door stays shut: port ${address.port} is taken, give it another one.`);
      }
    });
  },
});
