import { at, objects, type Stored, text } from '@drydock/kube-sim';
import { mover } from '../cluster/responders.ts';
import type { Around, Checker } from './checker.ts';
import { isFinished } from './judgement.ts';

/** EvictionRequests: for whom they are made, and that no eviction goes past a responder. */

const evictions = 'evictions.lifecycle.k8s.io';
const requests = 'evictionrequests.lifecycle.k8s.io';

function podUid(object: Stored): string {
  return text(object, 'spec', 'target', 'pod', 'uid');
}

function namesResponders(pod: Stored): boolean {
  return objects(at(pod, 'spec', 'evictionResponders')).length > 0;
}

function isOver(eviction: Stored): boolean {
  return objects(at(eviction, 'status', 'conditions')).some(
    condition => text(condition, 'status') === 'True',
  );
}

export function responderChecker({ store, story, fail, nowMs, staleMs }: Around): Checker {
  if (story.responders === undefined) return {};
  /** Since when a responder of the pod's own has had its turn, by the uid of the pod. */
  const since = new Map<string, number>();

  const isItsTurn = (eviction: Stored): boolean =>
    !isOver(eviction) &&
    objects(at(eviction, 'status', 'targetResponders')).some(
      one => text(one, 'name') === mover && text(one, 'state') === 'Active',
    );

  return {
    before: ({ call, target }) => {
      if (call.method === 'POST' && target.resource === requests) {
        const wanted = text(call.body as Stored, 'spec', 'target', 'pod', 'uid');
        const pod = store.list('pods', target.namespace).find(one => one.metadata.uid === wanted);
        if (pod !== undefined && !namesResponders(pod))
          fail(
            'responders',
            `${target.namespace}/${pod.metadata.name} names no responders, and its eviction is requested`,
          );
      }
      if (call.method !== 'POST' || target.resource !== 'pods' || target.sub !== 'eviction') return;
      const pod = store.get('pods', target.namespace, target.name);
      const began = pod && since.get(pod.metadata.uid);
      if (
        pod === undefined ||
        began === undefined ||
        isFinished(pod) ||
        nowMs() - began < staleMs()
      )
        return;
      fail(
        'responders',
        `${target.namespace}/${target.name} is asked to go past its responder, whose turn it has been for ${(nowMs() - began) / 1000} s`,
      );
    },
    changed: ({ resource, object, type }) => {
      if (resource !== evictions) return;
      const uid = podUid(object);
      if (type !== 'removed' && isItsTurn(object)) since.set(uid, since.get(uid) ?? nowMs());
      else since.delete(uid);
    },
  };
}
