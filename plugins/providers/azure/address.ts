/**
 * Where Azure takes calls. The version without a date has one address for all deployments, and the body names
 * the deployment as its model. A dated version has an address for each deployment, and the version in the
 * query.
 */
import type { Provider, Target } from '../../../core/index.ts';
import { checkUrlPath } from '../../shared/cloud/url-path.ts';

interface Root {
  readonly root: string;
  readonly query: string;
  readonly isDated: boolean;
}

function buildRoot(base: string, version: string | undefined): Root {
  const isDated = version !== undefined && /^\d{4}-/.test(version);
  return {
    root: isDated ? `${base}/openai` : `${base}/openai/v1`,
    query: version === undefined || version === 'v1' ? '' : `?api-version=${version}`,
    isDated,
  };
}

/** Where the resource lists the models that it could serve. */
export function buildListingAddress(base: string, version: string | undefined): string {
  const { root, query } = buildRoot(base, version);
  return `${root}/models${query}`;
}

export function buildEndpoints(base: string, version: string | undefined): Provider['endpoints'] {
  const { root, query, isDated } = buildRoot(base, version);
  const buildDeploymentRoot = ({ model }: Target): string =>
    `${root}${isDated ? `/deployments/${checkUrlPath(model.upstream)}` : ''}`;
  return {
    'chat-completions': (target) => `${buildDeploymentRoot(target)}/chat/completions${query}`,
    responses: (_target, operation) =>
      `${root}/responses${operation === 'count' ? '/input_tokens' : ''}${query}`,
    images: (target, operation) =>
      `${buildDeploymentRoot(target)}/images/${operation === 'edit' ? 'edits' : 'generations'}${query}`,
  };
}
