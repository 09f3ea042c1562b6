import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { asking } from '../page.ts';
import { ApproveForm } from './approve-form.tsx';
import { MaintainForm } from './maintain-form.tsx';
import { ReleaseForm } from './release-form.tsx';

const shut = (): void => {
  asking.value = undefined;
};

const Modal = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => {
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
};

/** The question that is open, if one is. */
export const Dialogs = () => {
  const { value } = asking;
  if (value === undefined) return null;
  const key = `${value.kind} ${value.node}`;
  if (value.kind === 'maintain') {
    return (
      <Modal key={key} title={`Take ${value.node} out of service`}>
        <MaintainForm node={value.node} shut={shut} />
      </Modal>
    );
  }
  if (value.kind === 'approve') {
    return (
      <Modal key={key} title={`Approve the maintenance of ${value.node}`}>
        <ApproveForm asked={value} shut={shut} />
      </Modal>
    );
  }
  return (
    <Modal key={key} title={`Release ${value.node}`}>
      <ReleaseForm asked={value} shut={shut} />
    </Modal>
  );
};
