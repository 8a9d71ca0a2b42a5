/**
 * The agents: where each is installed from, what it needs to know of the gateway, and the words that run it
 * without a screen. Each runs with a home folder of its own, so that no settings of the machine count.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Task } from './acting.ts';

/** What an agent needs to reach the gateway, and where it runs. */
export interface Access {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly home: string;
  /** Tokens of a conversation at which it compacts; undefined: as it likes. */
  readonly fullAt?: number;
  /** Speaks with the gateway by WebSocket. */
  readonly usesSocket?: boolean;
}

export interface Turn {
  readonly prompt: string;
  /** Goes on with the last conversation. */
  readonly resumes?: boolean;
  /** A picture to show, if the agent shows pictures by an option. */
  readonly picture?: string;
}

export interface Client {
  readonly name: string;
  readonly package: { readonly from: 'npm' | 'pip'; readonly name: string };
  /** The program, below the folder of the packages. */
  readonly program: string;
  /** Writes its settings, and returns its environment. */
  setUp(access: Access): Record<string, string>;
  /** The words that make it store its settings itself. */
  buildSetUp?(access: Access): string[];
  buildWords(turn: Turn, access: Access): string[];
  /** The prompt that makes it compact, if its settings do not. */
  readonly compacts?: string;
  /** Asks the gateway for a compaction, and makes no summary itself. */
  readonly leavesCompaction?: boolean;
  /** Prepares the first turn on a socket by a response that generates nothing. */
  readonly warmsUp?: boolean;
  /** Why a task cannot be given to it. */
  readonly lacks?: Readonly<Partial<Record<Exclude<Task, 'PONG'>, string>>>;
}

function write(file: string, content: string | object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
}

const SOCKET = 'speaks HTTP only';

/** Claude Code accepts every model by the ids of its own listing. */
function toClaudeId(id: string): string {
  return /claude|anthropic/.test(id) ? id : `claude-${id}`;
}

const claudeCode: Client = {
  name: 'Claude Code',
  package: { from: 'npm', name: '@anthropic-ai/claude-code' },
  program: '@anthropic-ai/claude-code-linux-x64/claude',
  setUp: ({ url, key, model }) => ({
    ANTHROPIC_BASE_URL: `${url}/alpha`,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: toClaudeId(model),
    ANTHROPIC_DEFAULT_HAIKU_MODEL: toClaudeId(model),
    CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
    CLAUDE_CODE_ENABLE_TELEMETRY: '1',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/alpha`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${key}`,
    // It refuses to run without questions as root, except in a sandbox.
    IS_SANDBOX: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
  buildWords: ({ prompt, resumes }) => [
    ...(resumes ? ['--continue'] : []),
    '--dangerously-skip-permissions',
    '-p',
    prompt,
  ],
  compacts: '/compact',
  lacks: { SOCKET },
};

/** With the display name "OpenAI" it asks for a compaction, with another one for a summary in plain words. */
const buildCodex = (name: string, display: string): Client => ({
  name,
  package: { from: 'npm', name: '@openai/codex' },
  program: '.bin/codex',
  leavesCompaction: display === 'OpenAI',
  warmsUp: true,
  setUp({ url, key, model, home, fullAt, usesSocket = false }) {
    write(
      join(home, '.codex/config.toml'),
      [
        `model = "${model}"`,
        ...(fullAt === undefined ? [] : [`model_auto_compact_token_limit = ${fullAt}`]),
        'model_provider = "tollgate"',
        '[model_providers.tollgate]',
        `name = "${display}"`,
        `base_url = "${url}/v1"`,
        'env_key = "TOLLGATE_KEY"',
        'wire_api = "responses"',
        `supports_websockets = ${usesSocket}`,
        `model_catalog_url = "${url}/v1/models"`,
        '[features]',
        'api_key_model_discovery = true',
      ].join('\n'),
    );
    return { TOLLGATE_KEY: key };
  },
  buildWords: ({ prompt, resumes, picture }) => [
    'exec',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    ...(resumes ? ['resume', '--last'] : []),
    ...(picture === undefined ? [] : ['-i', picture, '--']),
    prompt,
  ],
});

const geminiCli: Client = {
  name: 'Gemini CLI',
  package: { from: 'npm', name: '@google/gemini-cli' },
  program: '.bin/gemini',
  setUp({ url, key, model, home, fullAt }) {
    const helpers = [
      'gemini-3-flash-base',
      'loop-detection-double-check',
      'summarizer-default',
      'chat-compression-default',
    ];
    write(join(home, '.gemini/settings.json'), {
      security: { auth: { selectedType: 'gemini-api-key' } },
      model: {
        name: model,
        ...(fullAt === undefined ? {} : { compressionThreshold: fullAt / 1_048_576 }),
      },
      modelConfigs: {
        customOverrides: helpers.map((name) => ({ match: { model: name }, modelConfig: { model } })),
      },
    });
    return { GOOGLE_GEMINI_BASE_URL: `${url}/beta`, GEMINI_API_KEY: key };
  },
  buildWords: ({ prompt, resumes, picture }, { model }) => [
    '--skip-trust',
    '--yolo',
    '--model',
    model,
    ...(resumes ? ['--resume', 'latest'] : []),
    '--prompt',
    picture === undefined ? prompt : `${prompt} @${picture}`,
  ],
  lacks: { SOCKET },
};

const opencode: Client = {
  name: 'opencode',
  package: { from: 'npm', name: 'opencode-ai' },
  program: 'opencode-linux-x64/bin/opencode',
  setUp({ url, key, model, home, fullAt, usesSocket }) {
    // It speaks WebSocket with the provider of this name only.
    const chosen = `${usesSocket ? 'openai' : 'tollgate'}/${model}`;
    const facts = {
      name: model,
      attachment: true,
      modalities: { input: ['text', 'image'], output: ['text'] },
      ...(fullAt === undefined ? {} : { limit: { context: 2 * fullAt, output: fullAt } }),
    };
    write(join(home, '.config/opencode/opencode.json'), {
      model: chosen,
      small_model: chosen,
      // It asks for a title by HTTP always.
      ...(usesSocket ? { agent: { title: { disable: true } } } : {}),
      autoupdate: false,
      permission: 'allow',
      provider: {
        tollgate: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Tollgate',
          options: { baseURL: `${url}/v1`, apiKey: key },
          models: { [model]: facts },
        },
        openai: { options: { baseURL: `${url}/v1` }, models: { [model]: facts } },
      },
    });
    write(join(home, '.local/share/opencode/auth.json'), { openai: { type: 'api', key } });
    return { OPENCODE_EXPERIMENTAL_WEBSOCKETS: 'true' };
  },
  buildWords: ({ prompt, resumes, picture }) => [
    'run',
    ...(resumes ? ['--continue'] : []),
    prompt,
    ...(picture === undefined ? [] : ['--file', picture]),
  ],
};

const qwenCode: Client = {
  name: 'qwen-code',
  package: { from: 'npm', name: '@qwen-code/qwen-code' },
  program: '.bin/qwen',
  setUp({ home }) {
    // It shows pictures only to models whose names it knows, unless the settings say that they see.
    write(join(home, '.qwen/settings.json'), {
      model: { generationConfig: { modalities: { image: true } } },
    });
    return {};
  },
  buildWords: ({ prompt, resumes, picture }, { url, key, model }) => [
    '--yolo',
    `--openai-base-url=${url}/v1`,
    `--openai-api-key=${key}`,
    `--model=${model}`,
    '--auth-type=openai',
    ...(resumes ? ['--continue'] : []),
    '-p',
    picture === undefined ? prompt : `${prompt} @${picture}`,
  ],
  compacts: '/compress',
  lacks: { SOCKET },
};

const cline: Client = {
  name: 'Cline',
  package: { from: 'npm', name: 'cline' },
  program: '.bin/cline',
  setUp: () => ({}),
  buildSetUp: ({ url, key, model }) => [
    'auth',
    '--provider=openai-compatible',
    `--apikey=${key}`,
    `--baseurl=${url}/v1`,
    `--modelid=${model}`,
  ],
  buildWords: ({ prompt, picture }) => [picture === undefined ? prompt : `${prompt} @${picture}`],
  lacks: { RECALL: 'resumes only on a screen', COMPACT: 'resumes only on a screen', SOCKET },
};

const aider: Client = {
  name: 'aider',
  package: { from: 'pip', name: 'aider-chat' },
  program: 'bin/aider',
  setUp({ url, key, model, home, fullAt }) {
    // It shows pictures only to models of which it knows that they see, and summarises only what fits.
    const facts = { litellm_provider: 'openai', mode: 'chat', supports_vision: true };
    write(join(home, '.aider.model.metadata.json'), {
      [`openai/${model}`]: { ...facts, max_input_tokens: 200_000 },
    });
    return {
      OPENAI_API_BASE: `${url}/v1`,
      OPENAI_API_KEY: key,
      ...(fullAt === undefined ? {} : { AIDER_MAX_CHAT_HISTORY_TOKENS: String(fullAt) }),
    };
  },
  buildWords: ({ prompt, resumes, picture }, { model }) => [
    '--model',
    `openai/${model}`,
    '--no-git',
    '--yes-always',
    '--no-show-model-warnings',
    '--no-check-update',
    '--analytics-disable',
    ...(resumes ? ['--restore-chat-history'] : []),
    '--message',
    prompt,
    ...(picture === undefined ? [] : [picture]),
  ],
  lacks: { BOTH: 'has no tools', SOCKET },
};

export const clients: readonly Client[] = [
  claudeCode,
  buildCodex('Codex', 'Tollgate'),
  buildCodex('Codex as OpenAI', 'OpenAI'),
  geminiCli,
  opencode,
  qwenCode,
  cline,
  aider,
];

/** Agents that no registry installs: their packages fetch a program from elsewhere. */
export const absent: readonly (readonly [name: string, reason: string])[] = [
  ['crush', 'its package on npm downloads the program from GitHub'],
  ['goose', 'is on no package registry'],
];
