/**
 * `npm run chart -- <image> <digest> <folder>`: packages the chart into the folder, with the version of
 * package.json, so that it runs this image and no other. It prints the file.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { chart, installHelm, run } from './helm-program.ts';

const [image = '', digest = '', folder = ''] = process.argv.slice(2);
if (!/^sha256:[0-9a-f]{64}$/.test(digest) || folder === '')
  throw new Error('usage: npm run chart -- <image> sha256:<digest> <folder>');

const { version }: { version: string } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
);
const helm = installHelm();
const copy = mkdtempSync(join(tmpdir(), 'tollgate-chart-'));
try {
  cpSync(chart, copy, { recursive: true });
  const values = parseDocument(readFileSync(join(copy, 'values.yaml'), 'utf8'));
  values.setIn(['image', 'repository'], image);
  values.setIn(['image', 'digest'], digest);
  writeFileSync(join(copy, 'values.yaml'), values.toString({ lineWidth: 0 }));
  const versions = ['--version', version, '--app-version', version];
  run(helm, ['package', copy, ...versions, '--destination', folder]);
  const file = join(folder, `tollgate-${version}.tgz`);
  if (!run(helm, ['template', 'tollgate', file]).includes(`image: "${image}@${digest}"`))
    throw new Error(`${file} does not run ${image}@${digest}`);
  process.stdout.write(`${file}\n`);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
