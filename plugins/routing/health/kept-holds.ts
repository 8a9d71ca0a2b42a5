/**
 * What operators have taken out of service, in a file of the data folder, so that it stays out when the
 * gateway starts again. Each decision writes the whole list, which is short, to another file that is then
 * renamed.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { fileMode, makeFolder, type Host } from '../../../core/index.ts';
import { holdSchema, type Hold } from './holds.ts';

const listSchema = z.array(holdSchema);
const fileName = 'providers-at-rest.json';

type Needs = Pick<Host, 'dataFolder' | 'logger'>;

/**
 * None if there is no file. A file that cannot be read is logged: a provider in service is the lesser fault.
 */
export async function readHolds({ dataFolder, logger }: Needs): Promise<readonly Hold[]> {
  const file = join(dataFolder, fileName);
  try {
    return listSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT'))
      logger.error({ error, file }, 'providers that rest are unknown, because their file cannot be read');
    return [];
  }
}

let writing = Promise.resolve();

/**
 * Writes one list after the other, so that the last one stays. The decision holds in the running gateway even
 * if the folder cannot be written; then it is logged that a restart forgets it.
 */
export function writeHolds({ dataFolder, logger }: Needs, holds: () => readonly Hold[]): Promise<void> {
  const file = join(dataFolder, fileName);
  writing = writing.then(async () => {
    try {
      makeFolder(dataFolder);
      const aside = `${file}.${process.pid}`;
      await writeFile(aside, `${JSON.stringify(holds(), null, 2)}\n`, { mode: fileMode, flush: true });
      await rename(aside, file);
    } catch (error) {
      logger.error(
        { error, file },
        'a restart forgets which providers rest, because their file cannot be written',
      );
    }
  });
  return writing;
}
