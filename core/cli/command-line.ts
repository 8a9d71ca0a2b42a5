/**
 * The command line. `start` serves, `check` reads the configuration and describes it, and plugins add all
 * other verbs. Verbs work next to a running server.
 */
import cluster from 'node:cluster';
import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import type { Command as Program } from 'commander';
import { createGateway, type Gateway } from '../gateway.ts';
import { ownVerbs, splitVerb } from '../host/commands.ts';
import type { Command, CommandResult } from '../plugin.ts';
import { useOutgoingProxies } from '../upstream/agents.ts';
import { getMessage, ConfigError } from '../util/errors.ts';
import { releaseSoon } from '../util/memory.ts';
import { readOwnVersion } from '../util/own-version.ts';
import { toPluginError, PluginError } from '../util/plugin-error.ts';
import { formatBanner, isFirstStart } from './banner.ts';
import { loadConfig, loadEnvFile, nameOption, resolveConfigFile } from './load-config.ts';
import { flushLog, createLogger } from './log.ts';
import type { Service } from './service.ts';
import { EarlyEnd, isFirstWorker, superviseWorkers, reportReady } from './workers.ts';

/** What is wrong with the file of variables. Verbs fail with it, and help works without the file. */
const envFault = findEnvFault();
const logger = createLogger();

let isServing = false;

/** Workers have the variables of their parent, so all see the same, whenever they start. */
function findEnvFault(): unknown {
  try {
    if (cluster.isPrimary) loadEnvFile(resolveConfigFile());
    return undefined;
  } catch (error) {
    return error;
  }
}

function findConfigFile(): string {
  if (envFault !== undefined) throw envFault;
  return resolveConfigFile();
}

/**
 * The reader of the output may close it. The gateway keeps serving, whatever happens to the output. A
 * command ends: most print only when their work is done, and `calls tail` has no reader left. A command fails
 * if it cannot write its result, for example to a full disk.
 */
function noteLostOutput(error: NodeJS.ErrnoException): void {
  if (isServing) return;
  if (error.code === 'EPIPE') process.exit();
  process.exitCode = 1;
  process.stderr.write(`tollgate: the output could not be written: ${error.message}\n`);
}

process.stdout.on('error', noteLostOutput);
process.stderr.on('error', () => undefined);

/**
 * Removes control characters, which could steer the terminal, and marks that turn the direction of text:
 * names may come from a provider's model list. A carriage return before a line feed stays, because CSV lines
 * end with it.
 */
function toPrintable(text: string): string {
  return text.replaceAll(/\r(?!\n)|[^\P{Cc}\r\n\t]|\p{Bidi_Control}/gu, '\u{fffd}');
}

/** JSON keeps its values: it can write any character as an escape. */
function escapeUnprintable(json: string): string {
  return json.replaceAll(
    /[\p{Cc}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function print(text: string): void {
  process.stdout.write(`${toPrintable(text)}\n`);
}

function printJson(value: unknown): void {
  if (value !== undefined) print(escapeUnprintable(JSON.stringify(value)));
}

function printResult({ json, text, failed }: CommandResult, asJson: unknown): void {
  if (asJson) printJson(json);
  else if (text !== '') print(text);
  if (failed) process.exitCode = 1;
}

/** Lets V8 optimise hot code. The entry point turned that off, because it slows loading. */
function optimise(): void {
  for (const flag of ['--opt', '--maglev', '--sparkplug']) setFlagsFromString(flag);
}

export async function start(): Promise<void> {
  const began = performance.now();
  isServing = true;
  // Listens from the start, because the signal would end a process without a listener.
  const { promise: served, resolve: serves } = Promise.withResolvers<Service>();
  process.on('SIGHUP', () => void served.then(({ reload }) => reload()));
  // Node keeps what it read from the compile cache until it writes it back. Flushing frees 3 MB.
  flushCompileCache();
  const config = await loadConfig(findConfigFile());
  const { workers } = config.server;
  if (workers > 1 && cluster.isPrimary) return superviseWorkers(workers, config.plugins, logger);
  const first = isFirstStart(config);
  const { serve } = await import('./service.ts');
  const service = await serve(config, logger);
  serves(service);
  const speaks = cluster.isPrimary || isFirstWorker();
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    if (speaks) print('Stopping: calls that run may finish. Press Ctrl-C again to stop at once.');
    await service.stop();
    await flushLog(logger);
    process.exit();
  };
  // A terminal signals Ctrl-C to the workers too, and so does the parent process. One signal is enough.
  process.on('SIGINT', () => void (cluster.isPrimary && stop()));
  process.on('SIGTERM', () => void stop());
  // The state after an uncaught error is unknown. Running calls may finish while another process takes over.
  process.on('uncaughtException', (error) => {
    logger.fatal({ error }, 'the gateway stops after an uncaught error');
    process.exitCode = 1;
    if (!stopping) void stop();
  });
  // Others may rely on the gateway from here on, so it listens for signals before it reports that it is
  // ready.
  if (speaks)
    print(
      [
        ...service.first.describe().warnings,
        formatBanner(service.first, service.url, { first, milliseconds: performance.now() - began }),
      ].join('\n'),
    );
  else logger.info({ worker: Number(process.env.TOLLGATE_WORKER) }, 'a worker is ready');
  reportReady();
  optimise();
  flushCompileCache();
  releaseSoon();
}

interface Flags {
  readonly json?: boolean;
  readonly force?: boolean;
}

/** An invalid configuration is a result of this verb, not a failure: `--json` prints it as JSON. */
async function check({ json }: Flags): Promise<CommandResult> {
  try {
    return await describeConfig();
  } catch (error) {
    if (!json || !(error instanceof ConfigError)) throw error;
    return { json: { ok: false, fault: error.message }, text: '', failed: true };
  }
}

async function describeConfig(): Promise<CommandResult> {
  const config = await loadConfig(findConfigFile());
  const gateway = createGateway(config, logger);
  await gateway.check();
  const plugins = config.plugins.map(({ name }) => name);
  const protocols = [...gateway.protocols.list()].map(({ name }) => name);
  const off = [...gateway.off].map(([name, remedy]) => `off: ${name} (${remedy})`);
  const { lacks, warnings } = gateway.describe();
  const faults = await gateway.findUnreadable();
  await gateway.close();
  if (faults.length > 0) throw new ConfigError(`${config.file}: ${faults.join('; ')}`);
  const verdict = lacks.length > 0 ? ', but cannot serve calls yet.' : '.';
  const lines = [
    `The configuration is valid${verdict}`,
    ...lacks,
    ...warnings,
    `plugins: ${plugins.join(', ')}`,
    `protocols: ${protocols.join(', ') || 'none'}`,
    ...off,
  ];
  return { json: { ok: true, lacks, warnings, plugins, protocols }, text: lines.join('\n') };
}

/** The empty word is for all others, which stay as their plugin added them. */
const orderOfUse = [
  'create',
  'add',
  'set',
  'list',
  'show',
  '',
  'disable',
  'enable',
  'close',
  'delete',
  'remove',
];

function getRank(command: Command): number {
  const rank = orderOfUse.indexOf(splitVerb(command).words.at(-1) ?? '');
  return rank < 0 ? orderOfUse.indexOf('') : rank;
}

/** The verbs, with those of one first word together and in the order of use. */
function orderVerbs(commands: Iterable<Command>): Command[] {
  const groups = Map.groupBy(commands, (command) => splitVerb(command).words[0]);
  return [...groups.values()].flatMap((group) =>
    group.toSorted((one, other) => getRank(one) - getRank(other)),
  );
}

/** Describes the first words of verbs, by `group` or else by the words after them. */
function describeGroups(program: Program, commands: readonly Command[]): void {
  for (const group of program.commands.filter((each) => each.description() === '')) {
    const known = commands.find(
      (each) => each.group !== undefined && splitVerb(each).words[0] === group.name(),
    );
    group.description(known?.group ?? group.commands.map((each) => each.name()).join(', '));
  }
}

/** Shows the help of a verb of any number of words. Commander's own `help` reads only the first. */
function showHelp(program: Program, words: readonly string[]): void {
  let shown = program;
  for (const word of words.filter((each) => !each.startsWith('-'))) {
    const next = shown.commands.find((command) => command.name() === word);
    if (!next) return shown.error(`unknown command '${word}'`);
    shown = next;
  }
  shown.outputHelp();
}

/** Gives commander's errors the form of our own, and ends them with where to find help. */
function pointToHelp(command: Program, path = command.name()): void {
  command.configureOutput({
    outputError(text, write) {
      const fault = text
        .replace(/^error: /, '')
        .trim()
        .replace(/\.$/, '');
      write(`${path}: ${fault.replaceAll('\n', ' ')}; see ${path} --help\n`);
    },
  });
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`);
}

/** Adds a plugin's verb, such as `keys create`, below the command of its first words. */
function addVerb(program: Program, command: Command, gateway: Gateway): void {
  const { words, parameters } = splitVerb(command);
  let leaf = program;
  for (const word of words) leaf = leaf.commands.find((known) => known.name() === word) ?? leaf.command(word);
  for (const parameter of parameters) leaf.argument(parameter);
  leaf.description(command.description).option('--json', 'print one JSON object');
  for (const { flags, description } of command.options ?? []) leaf.option(flags, description);
  leaf.action(async () => {
    const { json, ...options } = leaf.opts<Record<string, string | boolean | undefined>>();
    optimise();
    try {
      const show = json ? (_: string, value?: unknown): void => printJson(value) : print;
      printResult(await command.run(leaf.args, options, show), json);
    } catch (error) {
      process.stderr.write(`tollgate ${words.join(' ')}: ${toPrintable(getMessage(error))}\n`);
      process.exitCode = 1;
    } finally {
      await gateway.close();
    }
  });
}

/** Plugins' verbs are known only after the configuration is read. Help must work without one. */
async function addPluginVerbs(program: Program, wanted: string | undefined): Promise<void> {
  if (wanted !== undefined && ownVerbs.has(wanted)) return;
  try {
    const gateway = createGateway(await loadConfig(findConfigFile()), logger);
    const commands = orderVerbs(gateway.commands.list());
    for (const command of commands) {
      try {
        addVerb(program, command, gateway);
      } catch (error) {
        throw toPluginError(gateway.commands.getOwner(command), error);
      }
    }
    describeGroups(program, commands);
  } catch (error) {
    if (wanted !== undefined && wanted !== 'help' && !wanted.startsWith('-')) throw error;
    program.addHelpText(
      'after',
      "\nThe plugins' verbs are missing, because the configuration could not be read: " +
        `${toPrintable(formatFault(error))}`,
    );
  }
}

/** Remedies for addresses that cannot be listened on. */
const addressRemedies: ReadonlyMap<string, readonly ['server.port' | 'server.host', string]> = new Map([
  ['EADDRINUSE', ['server.port', 'another one, or stop the process that uses it']],
  ['EADDRNOTAVAIL', ['server.host', 'an address of this machine']],
  ['ENOTFOUND', ['server.host', 'an address of this machine']],
  ['EACCES', ['server.port', 'one from 1024 on']],
]);

/** System calls of listening. A worker's errors begin with `bind`. */
const listenCalls = new Set<unknown>(['listen', 'bind', 'getaddrinfo']);

/** One line if the cause is known, otherwise the stack. */
function formatFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ConfigError || error instanceof PluginError || error instanceof EarlyEnd)
    return error.message;
  const remedy =
    'syscall' in error && listenCalls.has(error.syscall) && 'code' in error
      ? addressRemedies.get(String(error.code))
      : undefined;
  if (!remedy) return error.stack ?? error.message;
  const [option, value] = remedy;
  return `${error.message}: set ${nameOption(resolveConfigFile(), option)} to ${value}`;
}

/** Adds a verb of the gateway itself. What it needs is loaded with it. */
function addOwnVerb(
  program: Program,
  name: string,
  description: string,
  run: (flags: Flags, words: readonly string[]) => Promise<CommandResult>,
): Program {
  const verb = program.command(name).description(description).option('--json', 'print one JSON object');
  return verb.action(async () => printResult(await run(verb.opts(), verb.args), verb.opts<Flags>().json));
}

function addOwnVerbs(program: Program): void {
  program.command('start').description('start the gateway').action(start);
  addOwnVerb(program, 'check', 'check the configuration and show what is in it', check);
  const doctor = 'check machine, ledger and providers; exits with 1 if one has a fault';
  addOwnVerb(program, 'doctor', doctor, async () => {
    const { diagnose, formatDiagnosis } = await import('./doctor.ts');
    const diagnosis = await diagnose(findConfigFile(), logger);
    return { json: diagnosis, text: formatDiagnosis(diagnosis), failed: !diagnosis.ok };
  });
  const init = 'write a first configuration with the providers whose keys are in the environment';
  addOwnVerb(program, 'init', init, async (flags) => {
    if (envFault !== undefined) throw envFault;
    const { writeFirstConfig, formatSummary } = await import('./init.ts');
    const written = await writeFirstConfig(logger, flags);
    return { json: written, text: formatSummary(written) };
  }).option('--force', 'replace an existing file');
  const other = "write a configuration from another gateway's: import litellm config.yaml";
  addOwnVerb(program, 'import <kind> <file>', other, async ({ force }, [kind = '', source = '']) => {
    if (envFault !== undefined) throw envFault;
    const { importConfig, formatImport } = await import('./import.ts');
    const imported = await importConfig(kind, source, force);
    return { json: imported, text: formatImport(imported) };
  }).option('--force', 'replace an existing file');
}

async function main(): Promise<void> {
  useOutgoingProxies();
  // A plain start has no options. Without this, commander would stay in memory.
  if (process.argv.slice(2).join(' ') === 'start') return start();
  const { Command: Program } = await import('commander');
  const program = new Program('tollgate')
    .description('A gateway in front of generative models.')
    .version(readOwnVersion(), '-V, --version', 'print the version')
    // Beside verbs with long names descriptions have little room, and commander would not wrap them.
    .configureHelp({ minWidthToWrap: 20 })
    .enablePositionalOptions();
  addOwnVerbs(program);
  await addPluginVerbs(program, process.argv[2]);
  pointToHelp(program);
  const [verb, ...words] = process.argv.slice(2);
  if (verb === 'help') return showHelp(program, words);
  await program.parseAsync();
}

try {
  await main();
} catch (error) {
  await flushLog(logger);
  process.stderr.write(`tollgate: ${toPrintable(formatFault(error))}\n`);
  process.exit(1);
}
