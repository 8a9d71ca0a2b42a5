/**
 * The workflow that publishes a release, as far as it can be read: what it may do, what it builds and signs,
 * and that the steps which need no registry are scripts of this project.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { makeDataFolder } from '../support/process.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const stepSchema = z.looseObject({ uses: z.string().optional(), run: z.string().optional() });
const jobSchema = z.looseObject({
  needs: z.string().optional(),
  permissions: z.record(z.string(), z.string()).optional(),
  strategy: z
    .object({ matrix: z.object({ include: z.array(z.object({ arch: z.string(), machine: z.string() })) }) })
    .optional(),
  steps: z.array(stepSchema),
});
const workflowSchema = z.looseObject({ permissions: z.unknown(), jobs: z.record(z.string(), jobSchema) });

const workflows = globSync('.github/workflows/*.yml', { cwd: root }).map((path) => ({
  path,
  ...workflowSchema.parse(parse(read(path))),
}));
const release = workflows.find(({ path }) => path.endsWith('release.yml'));
const jobs: Readonly<Record<string, z.output<typeof jobSchema>>> = release?.jobs ?? {};

/** The commands of a job, as one text. */
function listCommands(job: string): string {
  return (jobs[job]?.steps ?? []).map(({ run = '' }) => run).join('\n');
}

it('the workflows pin each action to a commit, and may only read unless a job says more', () => {
  const used = workflows.flatMap((workflow) => Object.values(workflow.jobs).flatMap(({ steps }) => steps));
  expect(used.length).toBeGreaterThan(10);
  for (const { uses } of used) expect(uses ?? `a@${'0'.repeat(40)}`).toMatch(/@[0-9a-f]{40}$/);
  for (const { permissions } of workflows) expect(permissions).toEqual({ contents: 'read' });
});

it('the release publishes an image only after its tests, and signs it only once it is there', () => {
  expect(listCommands('publish')).toContain('bash .ci/run');
  expect([jobs.image?.needs, jobs.sign?.needs]).toEqual(['publish', 'image']);
  // What builds may not sign, and what signs by this identity may not be another job.
  expect(jobs.image?.permissions).toEqual({ contents: 'read', packages: 'write' });
  expect(jobs.sign?.permissions).toEqual({ contents: 'read', packages: 'write', 'id-token': 'write' });
});

it('the release publishes create-tollgate-plugin in its own version, with all that it writes', () => {
  expect(listCommands('publish')).toContain('npm publish --provenance');
  const [, own, other = ''] = /for folder in (\S+) (\S+); do/.exec(listCommands('publish')) ?? [];
  const readVersion = (folder: string): unknown => JSON.parse(read(join(folder, 'package.json'))).version;
  expect([own, readVersion(other)]).toEqual(['.', readVersion('.')]);
  const cwd = makeDataFolder();
  execFileSync('npm', ['pack', '--silent', join(root, other)], { cwd });
  execFileSync('tar', ['--extract', '--file', ...globSync('*.tgz', { cwd })], { cwd });
  const { name, bin } = JSON.parse(readFileSync(join(cwd, 'package/package.json'), 'utf8'));
  for (const kind of globSync('*', { cwd: join(root, other, 'templates'), exclude: ['every'] })) {
    execFileSync(process.execPath, [join('package', bin[name]), `my-${kind}`, '--kind', kind], { cwd });
    for (const part of ['every', kind])
      for (const file of globSync('**/*', { cwd: join(root, other, 'templates', part) }))
        expect([file, existsSync(join(cwd, `my-${kind}`, file))]).toEqual([file, true]);
  }
});

it('the release builds the Dockerfile for both architectures, with SBOM and provenance', () => {
  const built = jobs.image?.strategy?.matrix.include.map(({ arch }) => arch);
  expect(built).toEqual(['amd64', 'arm64']);
  const [, file = ''] = /--file (\S+)/.exec(listCommands('image')) ?? [];
  expect(existsSync(join(root, file))).toBe(true);
  expect(listCommands('image')).toMatch(/--sbom=true --provenance=mode=max/);
  for (const arch of built ?? []) expect(listCommands('sign')).toContain(`"$image:$version-${arch}"`);
});

it('the release signs the image and the chart by their digests, and keeps no secret', () => {
  const signed = [...listCommands('sign').matchAll(/cosign sign --yes.* "(\S+)@/g)];
  expect(signed.map(([, name]) => name)).toEqual(['$image', '${image%/*}/charts/tollgate']);
  expect(read('.github/workflows/release.yml')).not.toContain('secrets.');
});

it('the release runs scripts that there are', () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'));
  const named = [...read('.github/workflows/release.yml').matchAll(/npm run (?:--silent )?(\w+)/g)];
  expect(named.map(([, name]) => name)).toEqual(expect.arrayContaining(['image', 'helm', 'chart']));
  for (const [, name = ''] of named) {
    const file = scripts[name]?.split(' ')[1] ?? '';
    expect([name, existsSync(join(root, file))]).toEqual([name, true]);
  }
});
