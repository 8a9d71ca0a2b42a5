/** What a generate-content request asks for, in terms that fit every wire. */
import type { Asked } from '../improvise.ts';
import type { GeminiFacts } from './models.ts';
import type { GeminiRequest } from './request.ts';

function toText(response: unknown): string {
  if (typeof response === 'string') return response;
  if (typeof response !== 'object' || response === null) return String(response);
  const [only, second] = Object.values(response);
  return second === undefined && only !== undefined ? toText(only) : JSON.stringify(response);
}

function listResults({ contents }: GeminiRequest): Asked['results'] {
  return (contents.at(-1)?.parts ?? []).flatMap(({ functionResponse }) =>
    functionResponse
      ? [
          {
            name: functionResponse.name,
            text: [toText(functionResponse.response), ...functionResponse.parts.map(() => '(medium)')].join(
              ' ',
            ),
          },
        ]
      : [],
  );
}

/** Whether reasoning is shown at all, if the model has any. */
function thinks({ generationConfig: { thinkingConfig } }: GeminiRequest, { thinking }: GeminiFacts): boolean {
  return thinking !== 'none' && thinkingConfig?.thinkingBudget !== 0;
}

export function describeRequest(request: GeminiRequest, facts: GeminiFacts, model: string): Asked {
  const { tools, toolConfig, generationConfig: config } = request;
  const { mode = 'AUTO', allowedFunctionNames: allowed = [] } = toolConfig?.functionCallingConfig ?? {};
  const declared = tools.flatMap(({ functionDeclarations }) => functionDeclarations);
  const offered = declared.filter(
    ({ name }) => mode !== 'NONE' && (!allowed.length || allowed.includes(name)),
  );
  const json =
    config.responseMimeType === 'application/json'
      ? (config.responseJsonSchema ?? config.responseSchema ?? true)
      : undefined;
  return {
    model,
    tools: offered.map(({ name, parameters, parametersJsonSchema }) => ({
      name,
      schema: parametersJsonSchema ?? parameters,
    })),
    mustCall: mode === 'ANY',
    parallel: true,
    results: listResults(request),
    ...(json === undefined ? {} : { schema: json }),
    reasons: thinks(request, facts),
    searches: tools.some(({ googleSearch, googleSearchRetrieval }) => googleSearch ?? googleSearchRetrieval),
    draws: facts.drawsImages && config.responseModalities.includes('IMAGE'),
    runsCode: tools.some(({ codeExecution }) => codeExecution),
  };
}
