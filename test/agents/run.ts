/**
 * `npm run agents`: installs coding agents as their users do, and lets each of them work through the gateway
 * as delivered, for a model of each vendor. It prints a table, and on standard error what went wrong. Names
 * select agents and vendors: `npm run agents -- codex google`. `TOLLGATE_AGENTS` names the folder of the
 * installed packages.
 */
import { execFileSync, spawn, type ExecFileSyncOptions } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, removeFolders } from '../support/folder.ts';
import { pixel } from '../support/vendor/improvise.ts';
import { buildAnswer, buildSecrets, showsPicture, tasks } from './acting.ts';
import { absent, clients, type Access, type Client, type Turn } from './clients.ts';
import { models, openWorld, type Vendor, type World } from './vendors.ts';

const cache = process.env.TOLLGATE_AGENTS || join(import.meta.dirname, '../../node_modules/.cache/agents');
const longestTurn = 180_000;

function installPackage({ package: { from, name } }: Client): void {
  mkdirSync(join(cache, from), { recursive: true });
  const folder = join(cache, from);
  const options: ExecFileSyncOptions = { stdio: ['ignore', 'ignore', 'inherit'] };
  if (from === 'npm') {
    const words = [
      'install',
      '--prefix',
      folder,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      `${name}@latest`,
    ];
    execFileSync('npm', words, options);
    return;
  }
  execFileSync('python3', ['-m', 'venv', folder], options);
  execFileSync(join(folder, 'bin/pip'), ['install', '--quiet', '--upgrade', name], options);
}

function findProgram({ package: { from }, program }: Client): string {
  return from === 'npm' ? join(cache, 'npm/node_modules', program) : join(cache, 'pip', program);
}

interface Ran {
  readonly code: number | null;
  readonly printed: string;
}

function runProgram(
  program: string,
  words: readonly string[],
  { folder, environment }: { readonly folder: string; readonly environment: Record<string, string> },
): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  const child = spawn(program, words, { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), longestTurn);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  child.on('error', (error) => resolve({ code: null, printed: error.message }));
  child.on('close', (code) => {
    clearTimeout(timer);
    resolve({ code, printed });
  });
  return promise;
}

type Task = (typeof tasks)[number];
/** Undefined: done. Otherwise what went wrong, or why it was not tried. */
type Result = { readonly fault?: string; readonly untried?: string };

let numbered = 1000;

const prompts: Readonly<Record<Task, string>> = {
  PONG: 'Answer with one word.',
  BOTH: 'Read north.txt and south.txt at once.',
  LOOK: 'What is in the picture?',
  RECALL: 'What did I ask first?',
};

/** An agent at work for one model, in a home and a folder of its own. */
class Session {
  readonly #client: Client;
  readonly #world: World;
  readonly #access: Access;
  readonly #environment: Record<string, string>;
  readonly #folder = makeFolder();
  /** The last task, which a resumed conversation begins with. */
  #last = '';

  constructor(client: Client, world: World, model: string) {
    const { PATH = '', LANG = 'C.UTF-8', TERM = 'dumb' } = process.env;
    this.#client = client;
    this.#world = world;
    this.#access = { url: world.url, key: world.key, model, home: makeFolder() };
    const settings = client.setUp(this.#access);
    this.#environment = { PATH, LANG, TERM, HOME: this.#access.home, CI: '1', ...settings };
    writeFileSync(join(this.#folder, 'picture.png'), Buffer.from(pixel, 'base64'));
  }

  async setUp(): Promise<void> {
    const words = this.#client.buildSetUp?.(this.#access);
    if (words) await this.#start(words);
  }

  #start(words: readonly string[]): Promise<Ran> {
    const place = { folder: this.#folder, environment: this.#environment };
    return runProgram(findProgram(this.#client), words, place);
  }

  async run(task: Task): Promise<Result> {
    const untried = task === 'PONG' ? undefined : this.#client.lacks?.[task];
    if (untried !== undefined) return { untried };
    const number = (numbered += 1);
    const [north, south] = buildSecrets(String(number));
    writeFileSync(join(this.#folder, 'north.txt'), north);
    writeFileSync(join(this.#folder, 'south.txt'), south);
    const picture = join(this.#folder, 'picture.png');
    const turn: Turn = {
      prompt: `${prompts[task]} TASK-${task}-${number}${task === 'LOOK' ? ` PICTURE=${picture}` : ''}`,
      resumes: task === 'RECALL',
      ...(task === 'LOOK' ? { picture } : {}),
    };
    const since = this.#world.count();
    this.#world.takeFaults();
    const ran = await this.#start(this.#client.buildWords(turn, this.#access));
    const result = this.#judge(task, { ...ran, number: String(number), since });
    this.#last = `TASK-${task}-${number}`;
    return result;
  }

  #judge(task: Task, { code, printed, number, since }: Ran & { number: string; since: number }): Result {
    const bodies = this.#world.listRequests(since).map(({ body }) => String(body));
    const [refused] = this.#world.takeFaults();
    const answers = printed.split(buildAnswer(task, number)).length - 1;
    const holds = (text: string): boolean => bodies.some((body) => body.includes(text));
    const end = printed.slice(-800);
    if (refused !== undefined) return { fault: `refused: ${refused.slice(0, 400)} ${end}` };
    if (code !== 0) return { fault: `ended with ${code}: ${end}` };
    if (bodies.length === 0) return { fault: `asked no vendor: ${end}` };
    if (answers === 0) return { fault: `did not print the answer: ${end}` };
    if (task === 'BOTH' && !buildSecrets(number).every(holds))
      return { fault: 'sent no results of both tools' };
    if (task === 'LOOK' && !bodies.some(showsPicture)) return { fault: 'sent no picture' };
    if (task === 'RECALL' && !holds(this.#last)) return { fault: 'sent no earlier turn' };
    return {};
  }
}

function showResult({ fault, untried }: Result): string {
  if (untried !== undefined) return '–';
  return fault === undefined ? 'yes' : 'no';
}

async function judgeVendor(client: Client, world: World, vendor: Vendor): Promise<string[]> {
  const session = new Session(client, world, models[vendor]);
  await session.setUp();
  const results: Result[] = [];
  for (const task of tasks) {
    const result = await session.run(task);
    if (result.fault !== undefined)
      process.stderr.write(`${client.name}, ${models[vendor]}, ${task}: ${result.fault}\n\n`);
    results.push(result);
  }
  return results.map(showResult);
}

/** The last two are not run yet. */
const columns = 'agent,version,vendor,start,two tools,picture,resume,compaction,socket'.split(',');

async function main(chosen: readonly string[]): Promise<void> {
  const isChosen = (name: string, all: readonly string[]): boolean => {
    const named = chosen.filter((word) => all.some((each) => each.toLowerCase() === word.toLowerCase()));
    return named.length === 0 || named.some((word) => word.toLowerCase() === name.toLowerCase());
  };
  const names = clients.map(({ name }) => name);
  const vendors = Object.keys(models).filter((name): name is Vendor => name in models);
  const world = await openWorld();
  const lines = [`| ${columns.join(' | ')} |`, `|${'---|'.repeat(columns.length)}`];
  try {
    for (const client of clients.filter(({ name }) => isChosen(name, names))) {
      installPackage(client);
      const { printed } = await runProgram(findProgram(client), ['--version'], {
        folder: makeFolder(),
        environment: { PATH: process.env.PATH ?? '', HOME: makeFolder() },
      });
      const version = /\d+\.\d+\.\d+/.exec(printed)?.[0] ?? '?';
      for (const vendor of vendors.filter((name) => isChosen(name, vendors))) {
        const shown = await judgeVendor(client, world, vendor);
        lines.push(`| ${[client.name, version, vendor, ...shown, '', ''].join(' | ')} |`);
        process.stderr.write(`${lines.at(-1)}\n`);
      }
    }
  } finally {
    await world.close();
    removeFolders();
  }
  process.stdout.write(`${lines.join('\n')}\n\n`);
  for (const { name, lacks = {} } of clients)
    for (const [task, reason] of Object.entries(lacks)) process.stdout.write(`${name}, ${task}: ${reason}\n`);
  for (const [name, reason] of absent) process.stdout.write(`${name}: ${reason}\n`);
}

await main(process.argv.slice(2));
