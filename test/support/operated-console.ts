/** A gateway with its console, and a browser session of an operator. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../../core/config.ts';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { webConsole } from '../../plugins/operations/console/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { openHouse, type House } from './house.ts';

export interface ConsoleHouse {
  readonly house: House;
  /** The address of the admin listener. */
  readonly door: string;
  /** The operator secret. */
  readonly secret: string;
  /** Signs in without a browser and returns the cookie. */
  signIn(secret?: string): Promise<string>;
  close(): Promise<void>;
}

export async function openConsole(
  options: Parameters<typeof webConsole>[0] = {},
  plugins: ConfigInput['plugins'] = [],
): Promise<ConsoleHouse> {
  const house = await openHouse({
    plugins: [
      apiKeyHeader(),
      messages(),
      demo(),
      calls(),
      admin({ port: 0 }),
      webConsole(options),
      ...plugins,
    ],
  });
  const door = /http:\S+(?=, its secret)/.exec(house.gateway.told.join('\n'))?.[0] ?? '';
  const secret = readFileSync(join(house.gateway.dataFolder, 'operator-secret'), 'utf8').trim();
  return {
    house,
    door,
    secret,
    async signIn(shown = secret) {
      const response = await fetch(`${door}/console/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: door },
        body: JSON.stringify({ secret: shown }),
      });
      if (!response.ok) throw new Error(`signing in failed: ${await response.text()}`);
      return response.headers.get('set-cookie')?.split(';')[0] ?? '';
    },
    close: () => house.close(),
  };
}
