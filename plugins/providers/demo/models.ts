/** The models the demo provider offers: one that talks and one that paints. */
import { checkModel } from '../../../core/index.ts';

export const echo = checkModel({
  id: 'demo/echo',
  upstream: 'echo',
  name: 'Demo Echo',
  created: '2026-07-02',
  description:
    'Answers offline, without a vendor, by quoting what it was sent; its small price is real to the ledger.',
  contextLength: 262_144,
  outputLimit: 16_384,
  input: ['text'],
  output: ['text'],
  price: { input: '0.10', output: '0.40' },
  supportedParameters: ['max_tokens', 'n', 'response_format', 'stop', 'tool_choice', 'tools'],
  protocols: ['chat-completions'],
});

function mapToSelf(...values: readonly string[]): Record<string, string> {
  return Object.fromEntries(values.map((value) => [value, value]));
}

export const painter = checkModel({
  id: 'demo/paint',
  upstream: 'paint',
  name: 'Demo Paint',
  created: '2026-07-02',
  description:
    'Paints offline, without a vendor, a sun over bands of colour; ' +
    'each picture has a small price that is real to the ledger.',
  contextLength: 262_144,
  outputLimit: 512,
  input: ['text', 'image'],
  output: ['image'],
  price: { input: '0', output: '0', image: '0.002' },
  protocols: ['images'],
  capabilities: {
    tools: false,
    structuredOutput: false,
    sampling: false,
    image: {
      tokens: { auto: 512 },
      sizes: mapToSelf(
        'auto',
        '256x256',
        '512x512',
        '1024x1024',
        '1536x1024',
        '1024x1536',
        '1792x1024',
        '1024x1792',
      ),
      qualities: { ...mapToSelf('auto', 'low', 'medium', 'high'), standard: 'medium', hd: 'high' },
      formats: mapToSelf('png'),
      backgrounds: mapToSelf('auto', 'opaque', 'transparent'),
    },
  },
});
