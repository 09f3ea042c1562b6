import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { approvalText } from '../../model/plan-words.ts';
import { asking, type OpenDialog } from '../../page.ts';
import { ApproveForm } from './approve-form.tsx';
import { MaintainForm } from './maintain-form.tsx';
import { ApprovePlanForm, ResumeForm } from './plan-forms.tsx';
import { ReleaseForm } from './release-form.tsx';

function shut(): void {
  asking.value = undefined;
}

function Modal({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const { current } = dialog;
    const opener = document.activeElement;
    current?.showModal();
    return () => {
      current?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={shut}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

/** Returns title and form of a dialog. */
function questionOf(asked: OpenDialog): readonly [title: string, form: ComponentChildren] {
  switch (asked.kind) {
    case 'maintain':
      return [
        `Take ${asked.node} out of service`,
        <MaintainForm key={asked.node} node={asked.node} shut={shut} />,
      ];
    case 'release':
      return [`Release ${asked.node}`, <ReleaseForm key={asked.node} asked={asked} shut={shut} />];
    case 'approve':
      return [
        `Approve the maintenance of ${asked.node}`,
        <ApproveForm key={asked.node} asked={asked} shut={shut} />,
      ];
    case 'resume-plan':
      return [
        `Resume plan ${asked.plan.key}`,
        <ResumeForm key={asked.plan.uid} asked={asked} shut={shut} />,
      ];
    case 'approve-plan':
      return [
        `Approve ${approvalText(asked.approval)} of plan ${asked.plan.key}`,
        <ApprovePlanForm key={asked.plan.uid} asked={asked} shut={shut} />,
      ];
    default:
      return asked satisfies never;
  }
}

/** The open dialog, if any. */
export function Dialogs() {
  const { value } = asking;
  if (value === undefined) return null;
  const [title, form] = questionOf(value);
  return (
    <Modal key={title} title={title}>
      {form}
    </Modal>
  );
}
