/**
 * The data folder holds the ledger and the operators' secret, so only the gateway's own user may read it. A
 * start tightens the rights of existing files that this user owns. A folder that belongs to others, or that
 * serves other purposes too, stays as it is, and `tollgate doctor` reports it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import type { Finding } from '../plugin.ts';
import { foreign, readStats, isOwn, listContents, isShared } from '../util/private-files.ts';

/** The doctor's finding about the rights of the folder and its files. */
export function examineRights({ dataFolder, file }: Pick<Config, 'dataFolder' | 'file'>): Finding[] {
  const folder = resolve(dataFolder);
  const subject = 'rights';
  const facts = readStats(folder);
  if (!facts?.isDirectory() || !process.getuid) return [];
  const open = [folder, ...listContents(folder)].filter(
    (each) => ((readStats(each)?.mode ?? 0) & foreign) !== 0,
  );
  if (open.length === 0)
    return [{ subject, state: 'well', message: `only their owner can read ${folder} and its files` }];
  const [first = folder] = open;
  const message =
    open.length === 1
      ? `other users of this machine may open ${first}`
      : `other users of this machine may open ${first} and ${open.length - 1} more of the data folder`;
  if (isShared(folder, facts))
    return [
      {
        subject,
        state: 'note',
        message,
        remedy: `it serves other purposes too: set ${nameOption(file, 'dataFolder')} to a folder of its own`,
      },
    ];
  const remedy = isOwn(facts)
    ? 'the next start removes these rights'
    : `give the folder to the user who runs the gateway, and run chmod -R go= ${folder}`;
  return [{ subject, state: 'note', message, remedy }];
}

/**
 * Names an option in a message: with the variable that sets it, if the configuration file reads that one.
 */
const variables = { dataFolder: 'TOLLGATE_DATA', 'server.port': 'PORT', 'server.host': 'HOST' } as const;

export function nameOption(file: string, option: keyof typeof variables): string {
  const variable = variables[option];
  const isRead = existsSync(file) && new RegExp(`\\b${variable}\\b`).test(readFileSync(file, 'utf8'));
  return isRead ? `${option} (${variable})` : option;
}
