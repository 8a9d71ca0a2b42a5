/**
 * Makes a channel a plugin. Its options are its own and those that all channels share: which notices it gets,
 * and how often it may send.
 */
import { z } from 'zod';
import {
  allowReference,
  definePlugin,
  isReference,
  type Plugin,
  type PluginFactory,
} from '../../../core/index.ts';
import { isEventPattern, isKnownPattern } from './events.ts';
import { sendJson, type Channel, type Message } from './message.ts';
import { answerClaims, useOutbox } from './outbox.ts';

const severities = ['info', 'warning', 'critical'] as const;

const nameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'has to be of small letters, digits and hyphens');

const patternSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]*\.(?:\*|[a-z0-9_]+)$/, 'has to be an event such as key.expires, or key.*');

/** The options that all channels share. */
export const channelOptions = {
  /** Tells two channels of a kind apart; its kind unless given. */
  name: nameSchema.optional(),
  /** Which notices it gets: `budget.*`, `key.expires`. By default all. */
  events: z.array(patternSchema).min(1).optional(),
  /** It gets notices that are at least as severe. */
  severity: z.enum(severities).default('info'),
  /** It gets only notices about these accounts and those below them. */
  accounts: z.array(z.string().min(1)).min(1).optional(),
  /** Seconds between messages. Notices of one event that come meanwhile are one message. */
  every: z.number().min(0.1).max(86_400).default(30),
  /** Seconds for a message to be accepted. */
  timeout: z.number().min(0.1).max(60).default(10),
};

type SharedOptions = z.output<z.ZodObject<typeof channelOptions>>;

/** The address of a channel, which lets anyone who knows it send. Only a program here may get plain HTTP. */
export const channelUrl = allowReference(
  z.url({ protocol: /^https?$/ }).refine((url) => {
    const { protocol, hostname } = new URL(url);
    return protocol === 'https:' || /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  }, 'has to be an https address'),
);

export interface ChannelSpec<Schema extends z.ZodType<SharedOptions>> {
  /** What the channel is called unless it is named. */
  readonly kind: string;
  readonly options: Schema;
  /** Runs before each message if an option is a reference, with what that refers to. */
  open(options: z.output<Schema>): Pick<Channel, 'send'>;
}

/** Whether a notice is for a channel of these options. */
function createFilter({ events, severity, accounts }: SharedOptions): Channel['takes'] {
  const least = severities.indexOf(severity);
  return (notice) =>
    severities.indexOf(notice.severity) >= least &&
    (events?.some((pattern) => isEventPattern(pattern, notice.event)) ?? true) &&
    (accounts?.some((account) => notice.accounts?.includes(account)) ?? true);
}

/** Makes a channel's plugin of its options and a function that sends. */
export function defineChannel<Schema extends z.ZodType<SharedOptions>>({
  kind,
  options,
  open,
}: ChannelSpec<Schema>): PluginFactory<Schema> {
  const createPlugin = (given?: z.input<Schema>): Plugin => {
    const named = z.looseObject({ name: nameSchema }).safeParse(given);
    const createNamed = definePlugin<Schema>({
      name: named.data?.name ?? kind,
      options,
      apply(host, chosen) {
        const { name = kind, every, timeout } = chosen;
        const unknown = chosen.events?.find((pattern) => !isKnownPattern(pattern, host.plugins));
        if (unknown !== undefined) throw new Error(`events: there is no event ${unknown}`);
        const secrets = Object.entries(chosen).flatMap(([option, value]) =>
          typeof value === 'string' && isReference(value) ? [[option, host.openSecret(value)] as const] : [],
        );
        const readOptions = async (): Promise<z.output<Schema>> => {
          const read = secrets.map(async ([option, secret]) => [option, (await secret.read())[0]]);
          return options.parse({ ...chosen, ...Object.fromEntries(await Promise.all(read)) });
        };
        useOutbox(host).channels.set(name, {
          name,
          every: every * 1000,
          timeout: timeout * 1000,
          takes: createFilter(chosen),
          ...open(chosen),
          ...(secrets.length > 0 && { send: async (message) => open(await readOptions()).send(message) }),
        });
      },
      supervise: answerClaims,
    });
    return createNamed(given);
  };
  return Object.assign(createPlugin, { options });
}

interface JsonChannelSpec {
  readonly kind: string;
  buildBody(message: Message): object;
}

/** Makes the plugin of a channel whose address, which is all it needs, takes JSON. */
export function defineJsonChannel({ kind, buildBody }: JsonChannelSpec) {
  return defineChannel({
    kind,
    options: z.strictObject({ url: channelUrl, ...channelOptions }),
    open: ({ url, timeout }) => ({
      send: (message) => sendJson(url, { body: JSON.stringify(buildBody(message)), timeout }),
    }),
  });
}
