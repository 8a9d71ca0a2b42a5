/**
 * The command line: `start` serves, `check` reads the configuration and says what is in it, and every other
 * verb is a plugin's. Verbs work beside a running server.
 */
import cluster from 'node:cluster';
import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import type { Command as Program } from 'commander';
import { ConfigError, configFile, loadConfig, type Config } from '../config.ts';
import { createGateway, type Gateway } from '../gateway.ts';
import { ownVerbs, verbOf } from '../host/commands.ts';
import { namingPlugin, PluginError, type Command } from '../plugin.ts';
import { banner, isFirstStart } from './banner.ts';
import { shortcomingsOf } from './config-warnings.ts';
import { allWritten, createLogger } from './log.ts';
import { releaseSoon } from './memory.ts';
import { connectionFault } from './open-files.ts';
import { serve, type Service } from './service.ts';
import { EarlyEnd, isFirstWorker, superviseWorkers, tellReady } from './workers.ts';

const logger = createLogger();

// Whoever reads the output may close it; the gateway serves on all the same.
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);

/**
 * Names may come from elsewhere, such as a vendor's list of models: control characters in them must not steer
 * the terminal. `\r\n`, which ends the lines of CSV, is kept.
 */
function printable(text: string): string {
  return text.replaceAll(/\r(?!\n)|[^\P{Cc}\r\n\t]/gu, '\u{fffd}');
}

function print(text: string): void {
  process.stdout.write(`${printable(text)}\n`);
}

/**
 * Lets V8 optimise what runs often. The entry switched that off, since it slows the loading of the gateway.
 */
function optimise(): void {
  for (const flag of ['--opt', '--maglev']) setFlagsFromString(flag);
}

/** What the configuration asks for and this machine has no room for. */
function warningsOf({ server }: Config): string[] {
  const fault = connectionFault(server.maxConnections);
  return fault === undefined ? [] : [`Warning: ${fault}`];
}

async function start(): Promise<void> {
  const began = performance.now();
  // Heard from the start, since it would end a process that does not listen for it.
  const { promise: served, resolve: serves } = Promise.withResolvers<Service>();
  process.on('SIGHUP', () => void served.then(({ reload }) => reload()));
  // Node keeps what it read of its cache until it is written back: 3 MB that serve again for what the
  // configuration imports.
  flushCompileCache();
  const config = await loadConfig(configFile());
  const { workers } = config.server;
  if (workers > 1 && cluster.isPrimary) return superviseWorkers(workers, config.plugins);
  const first = isFirstStart(config);
  const service = await serve(config, logger);
  serves(service);
  const speaks = cluster.isPrimary || isFirstWorker();
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    if (speaks) print('Stopping: calls that run may finish. Press Ctrl-C again to stop at once.');
    await service.stop();
    await allWritten(logger);
    process.exit();
  };
  // A terminal tells a worker of Ctrl-C and so does the process that started it: once is enough.
  process.on('SIGINT', () => void (cluster.isPrimary && stop()));
  process.on('SIGTERM', () => void stop());
  // Nobody knows what state this leaves things in: calls that run may finish, and another process takes over.
  process.on('uncaughtException', (error) => {
    logger.fatal({ error }, 'the gateway stops: something failed that nothing was there to catch');
    process.exitCode = 1;
    if (!stopping) void stop();
  });
  // From here on someone may rely on it: signals are heard before it says that it is ready.
  if (speaks)
    print(
      [
        banner(service.first, service.url, { first, milliseconds: performance.now() - began }),
        ...warningsOf(config),
      ].join('\n'),
    );
  else logger.info({ worker: Number(process.env.TOLLGATE_WORKER) }, 'a worker is ready');
  tellReady();
  optimise();
  flushCompileCache();
  releaseSoon();
}

async function doctor(options: { json?: boolean }): Promise<void> {
  const { diagnose, diagnosisText } = await import('./doctor.ts');
  const diagnosis = await diagnose(configFile(), logger);
  print(options.json ? JSON.stringify(diagnosis) : diagnosisText(diagnosis));
  if (!diagnosis.ok) process.exitCode = 1;
}

async function init(options: { json?: boolean; force?: boolean }): Promise<void> {
  const { writeFirstConfig, writtenText } = await import('./init.ts');
  const written = await writeFirstConfig(logger, options);
  print(options.json ? JSON.stringify(written) : writtenText(written));
}

/**
 * A wrong configuration is an answer to this verb and no failure of it: with `--json` it is told in JSON too.
 */
async function check(options: { json?: boolean }): Promise<void> {
  try {
    await tellConfig(options);
  } catch (error) {
    if (!options.json || !(error instanceof ConfigError)) throw error;
    print(JSON.stringify({ ok: false, fault: error.message }));
    process.exitCode = 1;
  }
}

async function tellConfig(options: { json?: boolean }): Promise<void> {
  const config = await loadConfig(configFile());
  const gateway = createGateway(config, logger);
  const plugins = config.plugins.map(({ name }) => name);
  const protocols = [...gateway.protocols.all()].map(({ name }) => name);
  const lacks = shortcomingsOf(gateway);
  const warnings = warningsOf(config);
  const verdict =
    lacks.length > 0 ? 'The configuration is right, and of no use yet.' : 'The configuration is fine.';
  const lines = [
    verdict,
    ...lacks,
    ...warnings,
    `plugins: ${plugins.join(', ')}`,
    `protocols: ${protocols.join(', ') || 'none'}`,
  ];
  print(options.json ? JSON.stringify({ ok: true, lacks, warnings, plugins, protocols }) : lines.join('\n'));
  await gateway.close();
}

/** Adds a plugin's verb, `keys create`, as a command below the command of its first words. */
function addVerb(program: Program, command: Command, gateway: Gateway): void {
  const { words, parameters } = verbOf(command);
  let leaf = program;
  for (const word of words) leaf = leaf.commands.find((known) => known.name() === word) ?? leaf.command(word);
  for (const parameter of parameters) leaf.argument(parameter);
  leaf.description(command.description).option('--json', 'print one JSON object');
  for (const { flags, description } of command.options ?? []) leaf.option(flags, description);
  leaf.action(async () => {
    const { json, ...options } = leaf.opts<Record<string, string | boolean | undefined>>();
    optimise();
    try {
      const result = await command.run(leaf.args, options);
      print(json ? JSON.stringify(result.json) : result.text);
      if (result.failed) process.exitCode = 1;
    } catch (error) {
      process.stderr.write(
        `tollgate ${words.join(' ')}: ${printable(error instanceof Error ? error.message : String(error))}\n`,
      );
      process.exitCode = 1;
    } finally {
      await gateway.close();
    }
  });
}

/** The verbs of the plugins are known only once the configuration is read; help has to work without one. */
async function addPluginVerbs(program: Program, wanted: string | undefined): Promise<void> {
  if (wanted !== undefined && ownVerbs.has(wanted)) return;
  try {
    const gateway = createGateway(await loadConfig(configFile()), logger);
    for (const command of gateway.commands.all()) {
      try {
        addVerb(program, command, gateway);
      } catch (error) {
        throw namingPlugin(gateway.commands.ownerOf(command), error);
      }
    }
    for (const verb of program.commands)
      if (verb.description() === '') verb.description(verb.commands.map((each) => each.name()).join(', '));
  } catch (error) {
    if (wanted !== undefined && wanted !== 'help' && !wanted.startsWith('-')) throw error;
    program.addHelpText(
      'after',
      `\nThe other verbs are the plugins', which could not be read: ${printable(faultText(error))}`,
    );
  }
}

/** What to do about an address that cannot be listened on. */
const addressRemedies = new Map([
  ['EADDRINUSE', 'set PORT to another one, or stop what is there'],
  ['EADDRNOTAVAIL', 'set HOST to an address of this machine'],
  ['ENOTFOUND', 'set HOST to an address of this machine'],
  ['EACCES', 'set PORT to one from 1024 on'],
]);

/** What listening fails at; a worker's begins with `bind`. */
const listenCalls = new Set<unknown>(['listen', 'bind', 'getaddrinfo']);

/** One line where it is known what is wrong; the way there where it is not. */
function faultText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ConfigError || error instanceof PluginError || error instanceof EarlyEnd)
    return error.message;
  const remedy =
    'syscall' in error && listenCalls.has(error.syscall) && 'code' in error
      ? addressRemedies.get(String(error.code))
      : undefined;
  return remedy === undefined ? (error.stack ?? error.message) : `${error.message}: ${remedy}`;
}

async function main(): Promise<void> {
  // A plain start has no options: commander, which reads them, would stay in memory for nothing.
  if (process.argv.slice(2).join(' ') === 'start') return start();
  const { Command: Program } = await import('commander');
  const program = new Program('tollgate')
    .description('A gateway in front of generative models.')
    .enablePositionalOptions();
  program.command('start').description('serve').action(start);
  program
    .command('check')
    .description('read the configuration and say what is in it')
    .option('--json', 'print one JSON object')
    .action(check);
  program
    .command('doctor')
    .description('look whether machine, ledger and vendors are fit to serve; exits with 1 where they are not')
    .option('--json', 'print one JSON object')
    .action(doctor);
  program
    .command('init')
    .description('write a configuration to begin with, of the providers whose keys are in the environment')
    .option('--force', 'replace the one that is there')
    .option('--json', 'print one JSON object')
    .action(init);
  await addPluginVerbs(program, process.argv[2]);
  await program.parseAsync();
}

try {
  await main();
} catch (error) {
  await allWritten(logger);
  process.stderr.write(`tollgate: ${printable(faultText(error))}\n`);
  process.exit(1);
}
