import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Company } from '../company.ts';
import { ApiError, unavailable } from '../errors.ts';
import { limits } from '../limits.ts';
import type { RateLimit } from '../platform/rate-limiter/rate-limiter.ts';
import { type Admission, admit, type AdmitDependencies } from './admit.ts';
import type { Admitted } from './caller.ts';
import { allowAnyOrigin } from './cross-origin.ts';
import { contextOf, execute, type ExecuteDependencies } from './execute.ts';
import type { Answer } from './key-queries.ts';
import { inputReader, type ReadInput } from './input.ts';
import type { Steps } from './mount.ts';
import { refusingCardTesters } from './refused-cards.ts';
import type { Route, UploadedFile } from './route.ts';
import { receiveUpload } from './uploads.ts';
import { renderError } from './versions/versions.ts';
import { noteBody, noteQuery, payAhead } from './work.ts';

/** Routes that keys and members call: `admit.ts` admits a request, `input.ts` reads its input, `execute.ts` executes it. */

export interface HttpDependencies extends AdmitDependencies, ExecuteDependencies {
  /** Whether the company is about to leave the shard where its request ran, or has left it. */
  readonly hasLeft: (company: Company) => Promise<boolean>;
  /** The name of the shard of a company. */
  readonly shardOf: (companyId: string) => Promise<string>;
  readonly refusedCards: RateLimit | null;
  readonly uploadDirectory: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Known before the request is admitted, so that a refusal is logged for its company. */
    admitted: Admitted | null;
    admission: Admission | null;
  }
}

export function apiSteps(dependencies: HttpDependencies): (route: Route) => Steps {
  return (route) => {
    const readInput = inputReader(route);
    return {
      bodyBytes: limits.bodyBytes,
      async admit(request, reply) {
        if (route.publishable) allowAnyOrigin(reply);
        request.admission = await admit(route, request, reply, dependencies);
        noteQuery(request, route);
      },
      async serve(request, reply) {
        try {
          return await serve(route, request, reply, readInput, dependencies);
        } catch (error) {
          throw await orMoved(error, request.admission?.company, dependencies);
        }
      },
      shownError(error, { admission }) {
        return admission && error instanceof ApiError ? renderError(admission.apiVersion, route, error) : error;
      },
    };
  };
}

/** These depend on the request only, not on what the shard has. */
const ofRequest: readonly string[] = ['validation_error', 'invalid_request'];

/** A request that failed on a shard which its company leaves proves nothing: on the new shard it may succeed. */
async function orMoved(error: unknown, company: Company | undefined, { hasLeft }: HttpDependencies): Promise<unknown> {
  if (!company || (error instanceof ApiError && ofRequest.includes(error.code))) return error;
  const moves = await hasLeft(company).catch(() => false);
  return moves ? unavailable('The data of this company is being moved. Retry shortly.') : error;
}

async function serve(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  readInput: ReadInput,
  dependencies: HttpDependencies,
): Promise<Answer> {
  const { admission } = request;
  if (!admission) throw new Error(`${route.operationId} was reached without admission`);
  if (!route.upload) return await answerWith(undefined);
  const upload = await receiveUpload(request, route.upload, dependencies.uploadDirectory);
  try {
    return await answerWith(upload.file);
  } finally {
    await upload.discard();
  }

  async function answerWith(file: UploadedFile | undefined): Promise<Answer> {
    const input = readInput(request, file);
    noteBody(request, route, input.body);
    const paying = payAhead(dependencies, request);
    if (paying) await paying;
    const answer = (): Promise<Answer> => execute(route, request, reply, input, dependencies);
    if (!route.testedCard || !admission) return await answer();
    const context = contextOf(request, admission, dependencies);
    const tested = await route.testedCard({ ...input, context, prepared: undefined });
    return refusingCardTesters(dependencies, admission, request.ip, tested, answer);
  }
}
