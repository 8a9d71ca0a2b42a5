/**
 * Which plugins this gateway runs, and with what options. Its imports are the inventory: a plugin that is not
 * in this file is not loaded. A provider is off until its environment variable is set.
 */
import { countText, defineConfig, readEnvironment, portText, secondsText } from './core/index.ts';
import { apiKeyHeader } from './plugins/auth/api-key-header.ts';
import { bearer } from './plugins/auth/bearer.ts';
import { googleApiKey } from './plugins/auth/google-api-key.ts';
import { slack } from './plugins/channels/slack.ts';
import { balance } from './plugins/meters/balance/index.ts';
import { admin } from './plugins/operations/admin/index.ts';
import { callLog } from './plugins/operations/call-log.ts';
import { calls } from './plugins/operations/calls.ts';
import { catalogue } from './plugins/operations/catalogue.ts';
import { claudeCode } from './plugins/operations/claude-code.ts';
import { configuration } from './plugins/operations/configuration.ts';
import { webConsole } from './plugins/operations/console/index.ts';
import { crossing } from './plugins/operations/crossing.ts';
import { notices } from './plugins/operations/notices.ts';
import { openapi } from './plugins/operations/openapi.ts';
import { overload } from './plugins/operations/overload.ts';
import { prometheus } from './plugins/operations/prometheus.ts';
import { rateLimits } from './plugins/operations/rate-limits.ts';
import { chatCompletions } from './plugins/protocols/chat-completions/index.ts';
import { completions } from './plugins/protocols/completions/index.ts';
import { embeddings } from './plugins/protocols/embeddings/index.ts';
import { generateContent } from './plugins/protocols/generate-content/index.ts';
import { images } from './plugins/protocols/images/index.ts';
import { messages } from './plugins/protocols/messages/index.ts';
import { moderations } from './plugins/protocols/moderations/index.ts';
import { rerank } from './plugins/protocols/rerank/index.ts';
import { responses } from './plugins/protocols/responses/index.ts';
import { webSockets } from './plugins/protocols/responses/web-sockets.ts';
import { alibaba } from './plugins/providers/alibaba.ts';
import { amazonBedrock } from './plugins/providers/amazon-bedrock.ts';
import { anthropic } from './plugins/providers/anthropic.ts';
import { azure } from './plugins/providers/azure.ts';
import { cerebras } from './plugins/providers/cerebras.ts';
import { cohere } from './plugins/providers/cohere.ts';
import { deepseek } from './plugins/providers/deepseek.ts';
import { demo } from './plugins/providers/demo.ts';
import { fireworks } from './plugins/providers/fireworks.ts';
import { googleVertex } from './plugins/providers/google-vertex.ts';
import { google } from './plugins/providers/google.ts';
import { groq } from './plugins/providers/groq.ts';
import { huggingface } from './plugins/providers/huggingface.ts';
import { jina } from './plugins/providers/jina.ts';
import { meta } from './plugins/providers/meta.ts';
import { minimax } from './plugins/providers/minimax.ts';
import { mistral } from './plugins/providers/mistral.ts';
import { moonshot } from './plugins/providers/moonshot.ts';
import { nvidia } from './plugins/providers/nvidia.ts';
import { ollama } from './plugins/providers/ollama.ts';
import { openai } from './plugins/providers/openai.ts';
import { openrouter } from './plugins/providers/openrouter.ts';
import { perplexity } from './plugins/providers/perplexity.ts';
import { together } from './plugins/providers/together.ts';
import { vllm } from './plugins/providers/vllm.ts';
import { voyage } from './plugins/providers/voyage.ts';
import { xai } from './plugins/providers/xai.ts';
import { zai } from './plugins/providers/zai.ts';
import { affinity } from './plugins/routing/affinity.ts';
import { balanced } from './plugins/routing/balanced.ts';
import { bareNames } from './plugins/routing/bare-names.ts';
import { cost } from './plugins/routing/cost.ts';
import { health } from './plugins/routing/health.ts';
import { keys } from './plugins/routing/keys.ts';
import { latency } from './plugins/routing/latency.ts';
import { preferences } from './plugins/routing/preferences.ts';
import { throughput } from './plugins/routing/throughput.ts';

// A variable that is set to nothing, as compose files do, is one that is not set.
const { HOST, TOLLGATE_ADMIN_HOST, TOLLGATE_DATA, TOLLGATE_FIRST_CREDIT } = process.env;
const { TOLLGATE_LEDGER_URL, TOLLGATE_OPERATOR_SECRET, TOLLGATE_TOP_UP_SECRET } = process.env;
const { TOLLGATE_SLACK_WEBHOOK } = process.env;
const port = readEnvironment('PORT', portText) ?? 8787;
const firstByte = readEnvironment('TOLLGATE_FIRST_BYTE_TIMEOUT', secondsText);

export default defineConfig({
  server: {
    port,
    host: HOST || '127.0.0.1',
    // How many of your own proxies are in front and append to `x-forwarded-for`.
    trustedProxies: readEnvironment('TOLLGATE_PROXIES', countText) ?? 0,
  },
  dataFolder: TOLLGATE_DATA || './data',
  timeouts: firstByte === undefined ? {} : { firstEvent: firstByte, reply: firstByte },
  plugins: [
    // Credentials that clients may send.
    bearer(),
    apiKeyHeader(),
    googleApiKey(),
    // Protocols that clients may speak.
    chatCompletions(),
    // Assistant messages need no `id` and `status`: { assistantItems: 'strict' } demands them.
    responses({
      // Keeps responses, encrypted, for clients that refer to earlier ones. Without this line none is kept.
      store: { for: '1h' },
    }),
    // The same over WebSocket, for agents that keep a connection; { origins: [] } are the web pages let in.
    webSockets(),
    messages(),
    generateContent(),
    // A call without `quality` gets `auto`: { quality: 'required' } demands it.
    images(),
    // Texts to continue, and calls that are no conversations: vectors, scores and categories of texts.
    completions(),
    embeddings(),
    rerank(),
    moderations(),
    // Who answers. Several may serve one model: the first here is asked first.
    openai(),
    anthropic(),
    google(),
    deepseek(),
    mistral(),
    groq(),
    xai(),
    together(),
    moonshot(),
    zai(),
    minimax(),
    meta(),
    alibaba(),
    cerebras(),
    fireworks(),
    perplexity(),
    cohere(),
    huggingface(),
    nvidia(),
    voyage(),
    jina(),
    openrouter(),
    // Clouds; each needs a package of its own for signing, which it names.
    azure(),
    googleVertex(),
    amazonBedrock(),
    ollama({ free: true }),
    vllm({ free: true }),
    demo(),
    // Model names without their owner, as existing applications send them: `gpt-5.4`. Names of your own, of
    // 'tollgate/plugins/routing/aliases', go before it:
    // aliases({ 'house/fast': 'openai/gpt-5.4-mini', 'claude-*': 'anthropic/claude-*' }).
    bareNames(),
    // The `provider` object of a request, and the ways to choose it can ask for; `byDefault` is for calls
    // that ask for none.
    preferences(),
    cost(),
    latency(),
    throughput(),
    balanced(),
    // Keys of one provider take turns, what fails is not asked, and conversations go where their cache is.
    keys(),
    health(),
    affinity(),
    // Who pays, and who watches.
    balance({
      // Several gateways share a ledger in PostgreSQL, whose address TOLLGATE_LEDGER_URL holds.
      store: TOLLGATE_LEDGER_URL ? { kind: 'postgres' } : undefined,
      firstCredit: TOLLGATE_FIRST_CREDIT || undefined,
      topUps: TOLLGATE_TOP_UP_SECRET ? { secret: TOLLGATE_TOP_UP_SECRET } : undefined,
    }),
    // What operators should know: `tollgate notices list`. Channels for Teams, Discord, e-mail and programs
    // are in 'tollgate/plugins/channels/…'.
    notices(),
    TOLLGATE_SLACK_WEBHOOK && slack({ url: TOLLGATE_SLACK_WEBHOOK }),
    prometheus(),
    callLog(),
    calls(),
    catalogue(),
    // /openapi.json for machines, /docs for people; loaded when somebody asks.
    openapi(),
    // People sign in by OpenID Connect with signIn() of 'tollgate/plugins/operations/sign-in':
    // examples/sign-in.config.ts has it.
    // Pages for operators at `/` of the admin listener, and for key holders at `/` of the public one.
    webConsole(),
    // Claude Code's telemetry ends here. A file of settings for all who use it: { settings: 'claude.json' }.
    claudeCode(),
    // Limits public pages to 100 requests a second for each address. It limits calls if you name a limit:
    // rateLimits({ perKey: { requests: 60, tokens: 200_000, parallel: 10 } }).
    rateLimits(),
    // fetchImages() of 'tollgate/plugins/operations/fetch-images' fetches pictures for providers that accept
    // bytes only.
    // Sheds new calls while the event loop lags or memory runs low.
    overload(),
    // On the admin listener: what would be sent for a call, and the configuration in force.
    crossing(),
    configuration(),
    // The admin listener uses the next port by default.
    admin({
      port:
        readEnvironment('TOLLGATE_ADMIN_PORT', portText) ?? (port && (port < 65_535 ? port + 1 : port - 1)),
      host: TOLLGATE_ADMIN_HOST || '127.0.0.1',
      secret: TOLLGATE_OPERATOR_SECRET || undefined,
    }),
  ],
});
