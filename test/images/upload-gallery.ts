/** A gallery whose uploads are in a folder of its own, where a test can see what is left. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openGallery, type Gallery } from './gallery.ts';

export const edits = '/v1/images/edits';

export interface UploadGallery extends Gallery {
  readonly uploads: string;
  listLeft(): string[];
  /** Waits until no call's folder is left. */
  expectNothingLeft(): Promise<void>;
}

export async function openUploads(): Promise<UploadGallery> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'tollgate-uploads-'));
  const uploads = join(dataFolder, 'uploads');
  const gallery = await openGallery({ settings: { dataFolder, server: { bodyLimit: 1_000_000 } } });
  const listLeft = (): string[] => {
    try {
      return existsSync(uploads) ? readdirSync(uploads, { recursive: true }).map(String) : [];
    } catch {
      return ['what went while it was looked at'];
    }
  };
  return {
    ...gallery,
    uploads,
    listLeft,
    expectNothingLeft: async () => void (await expect.poll(listLeft).toEqual([])),
    async close() {
      await gallery.close();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}
