/** Gateways in front of a fake Azure, by its present and its former API. */
import { afterAll, afterEach, beforeAll, vi } from 'vitest';
import { azure } from '../../plugins/providers/azure.ts';
import { key, startAzure, type Azure } from '../support/cloud/azure.ts';
import { openCloudHarness, type CloudHarness } from '../support/cloud/harness.ts';

export const model = 'openai/gpt-4o-mini';
export const hello = [{ role: 'user', content: 'Hello!' }];
export let cloud: Azure;
export let harness: CloudHarness;
export let old: CloudHarness;

export function openAzure(): void {
  beforeAll(async () => {
    cloud = await startAzure();
    harness = await openCloudHarness(azure({ baseUrl: cloud.origin, apiKey: key }));
    old = await openCloudHarness(
      azure({
        baseUrl: cloud.origin,
        apiKey: key,
        apiVersion: '2025-04-01-preview',
        deployments: { 'gpt-4o-mini': 'our-mini', 'gpt-image-1': 'gpt-image-1' },
      }),
    );
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    cloud.vendor.unscript();
    cloud.painter.unscript();
    cloud.full.clear();
  });
  afterAll(async () => {
    await Promise.all([harness.close(), old.close()]);
    await cloud.close();
  });
}
