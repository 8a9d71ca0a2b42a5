/**
 * `npm run agents`: installs coding agents as their users do, and lets each of them work through the gateway
 * as delivered, for a model of each vendor. It prints a table, and on standard error what went wrong. Names
 * select agents, vendors and tasks: `npm run agents -- codex google compaction`. `TOLLGATE_AGENTS` names the
 * folder of the installed packages.
 */
import { execFileSync, spawn, type ExecFileSyncOptions } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, removeFolders } from '../support/folder.ts';
import { pixel } from '../support/vendor/improvise.ts';
import {
  buildAnswer,
  buildFiller,
  buildSecrets,
  buildSummary,
  showsPicture,
  tasks,
  type Task,
} from './acting.ts';
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

/** Undefined: done. Otherwise what went wrong, or why it was not tried. */
type Result = { readonly fault?: string; readonly untried?: string };

let numbered = 1000;

const prompts: Readonly<Record<Task, string>> = {
  PONG: 'Answer with one word.',
  BOTH: 'Read north.txt and south.txt at once.',
  LOOK: 'What is in the picture?',
  RECALL: 'What did I ask first?',
  COMPACT: 'Go on.',
  SOCKET: 'Read north.txt and south.txt at once.',
};

/** More tokens than the tools and instructions of an agent, less than the long answer. */
const fullAt = 12_000;

/** The prompts before the one that is judged: a compaction needs a long conversation. */
function listEarlier({ compacts }: Client, task: Task, number: string): Turn[] {
  if (task !== 'COMPACT') return [];
  const fill = { prompt: `Write the log of the harbour. TASK-FILL-${number}` };
  return compacts === undefined ? [fill] : [fill, { prompt: compacts, resumes: true }];
}

/** An agent at work for one model, in a home and a folder of its own. */
class Session {
  readonly #client: Client;
  readonly #world: World;
  readonly #access: Access;
  #environment: Record<string, string>;
  readonly #folder = makeFolder();
  /** The last task, which a resumed conversation begins with. */
  #last = '';

  constructor(client: Client, world: World, model: string) {
    this.#client = client;
    this.#world = world;
    this.#access = { url: world.url, key: world.key, model, home: makeFolder() };
    this.#environment = this.#configure();
    writeFileSync(join(this.#folder, 'picture.png'), Buffer.from(pixel, 'base64'));
  }

  #configure(more: Partial<Access> = {}): Record<string, string> {
    const { PATH = '', LANG = 'C.UTF-8', TERM = 'dumb' } = process.env;
    const settings = this.#client.setUp({ ...this.#access, ...more });
    return { PATH, LANG, TERM, HOME: this.#access.home, CI: '1', ...settings };
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
      resumes: task === 'RECALL' || task === 'COMPACT',
      ...(task === 'LOOK' ? { picture } : {}),
    };
    if (task === 'COMPACT' && this.#client.compacts === undefined)
      this.#environment = this.#configure({ fullAt });
    if (task === 'SOCKET') this.#environment = this.#configure({ usesSocket: true });
    const since = this.#world.count();
    await this.#world.takeLog();
    this.#world.takeSent();
    for (const earlier of listEarlier(this.#client, task, String(number))) {
      const { code, printed } = await this.#start(this.#client.buildWords(earlier, this.#access));
      if (code !== 0) return { fault: `${earlier.prompt} ended with ${code}: ${printed.slice(-800)}` };
    }
    const ran = await this.#start(this.#client.buildWords(turn, this.#access));
    const result = await this.#judge(task, { ...ran, number: String(number), since });
    this.#last = `TASK-${task}-${number}`;
    return result;
  }

  async #judge(
    task: Task,
    { code, printed, number, since }: Ran & { number: string; since: number },
  ): Promise<Result> {
    const bodies = this.#world.listRequests(since).map(({ body }) => String(body));
    const log = await this.#world.takeLog();
    const refused = log.find((line) => /"level":(50|60)|"outcome":"(failed|refused|cut)"/.test(line));
    const answers = printed.split(buildAnswer(task, number)).length - 1;
    const holds = (text: string): boolean => bodies.some((body) => body.includes(text));
    const end = printed.slice(-800);
    if (refused !== undefined) return { fault: `refused: ${refused.slice(0, 400)} ${end}` };
    if (code !== 0) return { fault: `ended with ${code}: ${end}` };
    if (bodies.length === 0) return { fault: `asked no vendor: ${end}` };
    if (answers === 0) return { fault: `did not print the answer: ${end}` };
    if ((task === 'BOTH' || task === 'SOCKET') && !buildSecrets(number).every(holds))
      return { fault: 'sent no results of both tools' };
    if (task === 'LOOK' && !bodies.some(showsPicture)) return { fault: 'sent no picture' };
    if (task === 'RECALL' && (this.#last === '' || !holds(this.#last)))
      return { fault: 'sent no earlier turn' };
    if (task === 'COMPACT' && !bodies.some((body) => isCompacted(body, number)))
      return { fault: 'sent no summary in place of the conversation' };
    if (task === 'COMPACT' && this.#client.leavesCompaction && !bodies.some(asksForCompaction))
      return { fault: 'made its summary itself' };
    return task === 'SOCKET' ? judgeSocket(this.#client, log, this.#world.takeSent()) : {};
  }
}

/** What the gateway asks a vendor for, or passes on to OpenAI, when an agent asks for a compaction. */
function asksForCompaction(body: string): boolean {
  return /Your context is about to be cleared|"type":"compaction_trigger"/.test(body);
}

/** A response that generates nothing is sent, but it is no call. */
function judgeSocket({ warmsUp }: Client, log: readonly string[], sent: string): Result {
  const calls = log.filter((line) => line.includes('"msg":"call"'));
  if (calls.length === 0) return { fault: 'logged no call' };
  const other = calls.find((line) => !line.includes('"transport":"websocket"'));
  if (other !== undefined) return { fault: `called by HTTP: ${other.slice(0, 400)}` };
  const responses = sent.split('"type":"response.completed"').length - 1;
  return responses === calls.length + (warmsUp ? 1 : 0)
    ? {}
    : { fault: `${calls.length} calls, ${responses} responses` };
}

/** Whether a request goes on after a compaction. OpenAI seals its own, all others are texts. */
function isCompacted(body: string, number: string): boolean {
  if (!body.includes(`TASK-COMPACT-${number}`) || body.includes(buildFiller(number))) return false;
  return body.includes(buildSummary(number)) || body.includes('"type":"compaction"');
}

function showResult({ fault, untried }: Result): string {
  if (untried !== undefined) return '–';
  return fault === undefined ? 'yes' : 'no';
}

async function judgeVendor(
  client: Client,
  world: World,
  vendor: Vendor,
  isWanted: (column: string) => boolean,
): Promise<string[]> {
  const session = new Session(client, world, models[vendor]);
  await session.setUp();
  const shown: string[] = [];
  for (const task of tasks) {
    if (!isWanted(columns[task])) {
      shown.push('');
      continue;
    }
    const result = await session.run(task);
    if (result.fault !== undefined)
      process.stderr.write(`${client.name}, ${models[vendor]}, ${task}: ${result.fault}\n\n`);
    shown.push(showResult(result));
  }
  return shown;
}

const columns: Readonly<Record<Task, string>> = {
  PONG: 'start',
  BOTH: 'two tools',
  LOOK: 'picture',
  RECALL: 'resume',
  COMPACT: 'compaction',
  SOCKET: 'socket',
};

async function main(chosen: readonly string[]): Promise<void> {
  const isChosen = (name: string, all: readonly string[]): boolean => {
    const named = chosen.filter((word) => all.some((each) => each.toLowerCase() === word.toLowerCase()));
    return named.length === 0 || named.some((word) => word.toLowerCase() === name.toLowerCase());
  };
  const names = clients.map(({ name }) => name);
  const vendors = Object.keys(models).filter((name): name is Vendor => name in models);
  const world = await openWorld();
  const head = ['agent', 'version', 'vendor', ...Object.values(columns)];
  const lines = [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`];
  const isWanted = (column: string): boolean => isChosen(column, Object.values(columns));
  try {
    for (const client of clients.filter(({ name }) => isChosen(name, names))) {
      installPackage(client);
      const { printed } = await runProgram(findProgram(client), ['--version'], {
        folder: makeFolder(),
        environment: { PATH: process.env.PATH ?? '', HOME: makeFolder() },
      });
      const version = /\d+\.\d+\.\d+/.exec(printed)?.[0] ?? '?';
      for (const vendor of vendors.filter((name) => isChosen(name, vendors))) {
        const shown = await judgeVendor(client, world, vendor, isWanted);
        lines.push(`| ${[client.name, version, vendor, ...shown].join(' | ')} |`);
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
