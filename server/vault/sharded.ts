import { inTime } from '../platform/in-time.ts';
import type { Vault, VaultHealth } from './vault.ts';

/** After the first shard has answered. */
const othersMs = 100;
const noShard = 'the shard of the company is not known at the moment';

interface OfCompany {
  readonly companyId: string;
}

type Call<Request, Result> = (vault: Vault, request: Request) => Promise<Result>;

/** A vault whose cards are on the shards of their companies. Each call goes to the shard of its company. */
export function shardedVault(
  vaultOf: (companyId: string) => Promise<Vault>,
  /** The vault of the first shard, and those in use. */
  inUse: () => readonly Vault[],
): Vault {
  const routed =
    <Request extends OfCompany, Result>(call: Call<Request, Result>) =>
    async (request: Request): Promise<Result> =>
      call(await vaultOf(request.companyId), request);
  /** An operation that reaches no shard was not sent. */
  const sent =
    <Request extends OfCompany, Result>(call: Call<Request, Result>) =>
    async (request: Request): Promise<Result | { readonly outcome: 'unavailable'; readonly reason: string }> => {
      const vault = await vaultOf(request.companyId).catch(() => undefined);
      return vault ? call(vault, request) : { outcome: 'unavailable', reason: noShard };
    };
  const lookedUp =
    <Request extends OfCompany, Result>(call: Call<Request, Result>) =>
    async (request: Request): Promise<Result | { readonly outcome: 'unknown'; readonly reason: string }> => {
      const vault = await vaultOf(request.companyId).catch(() => undefined);
      return vault ? call(vault, request) : { outcome: 'unknown', reason: noShard };
    };
  return {
    store: routed((vault, card) => vault.store(card)),
    fingerprint: async (companyId, mode, number) => (await vaultOf(companyId)).fingerprint(companyId, mode, number),
    async remove(cards) {
      const vaults = await Promise.all(cards.map(({ companyId }) => vaultOf(companyId)));
      const byVault = Map.groupBy(cards, (card) => vaults[cards.indexOf(card)] as Vault);
      const left = [];
      for (const [vault, ofVault] of byVault) left.push(...(await vault.remove(ofVault)));
      return left;
    },
    charge: sent((vault, charge) => vault.charge(charge)),
    authorize: sent((vault, charge) => vault.authorize(charge)),
    capture: sent((vault, capture) => vault.capture(capture)),
    refund: sent((vault, refund) => vault.refund(refund)),
    void: sent((vault, request) => vault.void(request)),
    lookup: lookedUp((vault, request) => vault.lookup(request)),
    resume: lookedUp((vault, request) => vault.resume(request)),
    sandboxBank: routed((vault, request) => vault.sandboxBank(request)),
    operations: routed((vault, request) => vault.operations(request)),
    connect: routed((vault, connection) => vault.connect(connection)),
    forget: routed((vault, connection) => vault.forget(connection)),
    test: routed((vault, connection) => vault.test(connection)),
    receive: routed((vault, delivery) => vault.receive(delivery)),
    poll: routed((vault, request) => vault.poll(request)),
    release: routed((vault, request) => vault.release(request)),
    defenseReasons: routed((vault, request) => vault.defenseReasons(request)),
    submitEvidence: routed((vault, request) => vault.submitEvidence(request)),
    acceptDispute: routed((vault, request) => vault.acceptDispute(request)),
    verification: routed((vault, card) => vault.verification(card)),
    setUp: lookedUp((vault, request) => vault.setUp(request)),
    resumeSetUp: lookedUp((vault, request) => vault.resumeSetUp(request)),
    noticedSetUp: lookedUp((vault, request) => vault.noticedSetUp(request)),
    endSetUp: lookedUp((vault, request) => vault.endSetUp(request)),
    async health() {
      const states: VaultHealth[] = [];
      const asked = inUse().map(async (vault) => {
        const state = await vault.health();
        states.push(state);
        if (state.problem !== undefined) throw new Error(state.problem);
      });
      // One shard that is away does not stop the others: its own charges are answered as unavailable. Nor does it delay
      // the answer, because other processes avoid a vault that answers late.
      await Promise.any(asked).then(
        () => inTime(Promise.allSettled(asked), othersMs, []),
        () => undefined,
      );
      return {
        problem: states.every(({ problem }) => problem !== undefined) ? states[0]?.problem : undefined,
        processorProblem: states.find(({ processorProblem }) => processorProblem !== undefined)?.processorProblem,
      };
    },
    nowMs: async () => inUse()[0]?.nowMs(),
  };
}
