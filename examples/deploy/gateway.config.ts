/**
 * The gateway as it runs in containers: several of them, one ledger in PostgreSQL, everything else from the
 * environment. A provider is on once its variable is set.
 */
import { defineConfig } from 'tollgate';
import { apiKeyHeader } from 'tollgate/plugins/auth/api-key-header';
import { bearer } from 'tollgate/plugins/auth/bearer';
import { googleApiKey } from 'tollgate/plugins/auth/google-api-key';
import { balance } from 'tollgate/plugins/meters/balance';
import { admin } from 'tollgate/plugins/operations/admin';
import { callLog } from 'tollgate/plugins/operations/call-log';
import { calls } from 'tollgate/plugins/operations/calls';
import { catalogue } from 'tollgate/plugins/operations/catalogue';
import { openapi } from 'tollgate/plugins/operations/openapi';
import { overload } from 'tollgate/plugins/operations/overload';
import { prometheus } from 'tollgate/plugins/operations/prometheus';
import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
import { generateContent } from 'tollgate/plugins/protocols/generate-content';
import { images } from 'tollgate/plugins/protocols/images';
import { messages } from 'tollgate/plugins/protocols/messages';
import { responses } from 'tollgate/plugins/protocols/responses';
import { anthropic } from 'tollgate/plugins/providers/anthropic';
import { demo } from 'tollgate/plugins/providers/demo';
import { google } from 'tollgate/plugins/providers/google';
import { openai } from 'tollgate/plugins/providers/openai';
import { affinity } from 'tollgate/plugins/routing/affinity';
import { balanced } from 'tollgate/plugins/routing/balanced';
import { bareNames } from 'tollgate/plugins/routing/bare-names';
import { cost } from 'tollgate/plugins/routing/cost';
import { health } from 'tollgate/plugins/routing/health';
import { keys } from 'tollgate/plugins/routing/keys';
import { latency } from 'tollgate/plugins/routing/latency';
import { preferences } from 'tollgate/plugins/routing/preferences';
import { throughput } from 'tollgate/plugins/routing/throughput';

const { PORT, HOST, TOLLGATE_DATA, TOLLGATE_PROXIES } = process.env;

export default defineConfig({
  server: {
    port: Number(PORT || 8787),
    host: HOST || '127.0.0.1',
    // Seconds that calls may finish in at a stop: the container's stop timeout must be longer.
    drain: 30,
    trustedProxies: Number(TOLLGATE_PROXIES || 0),
  },
  dataFolder: TOLLGATE_DATA || './data',
  plugins: [
    bearer(),
    apiKeyHeader(),
    googleApiKey(),
    chatCompletions(),
    responses({ assistantItems: 'lenient' }),
    messages(),
    generateContent(),
    images({ quality: 'optional' }),
    openai(),
    anthropic(),
    google(),
    demo(),
    bareNames(),
    preferences(),
    cost(),
    latency(),
    throughput(),
    balanced(),
    keys(),
    health(),
    affinity(),
    // The address of the database holds a password: it is in the environment, as TOLLGATE_LEDGER_URL.
    balance({ store: { kind: 'postgres' }, firstCredit: '0' }),
    prometheus(),
    callLog(),
    calls(),
    catalogue(),
    openapi(),
    overload(),
    // On loopback: it is reached from inside, or by a forwarded port.
    admin({ port: 8788 }),
  ],
});
