import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'Sandbox',
    rehearsal: 'Répétition',
    live: '',
  },
  openTitle: 'Payer {merchant}',
  open: 'Continuez pour voir le montant et saisir votre carte.',
  continue: 'Continuer',
  soldOutTitle: 'Épuisé',
  soldOut: 'Ce lien de paiement a atteint son nombre de paiements. Vous n’avez pas été débité.',
  endedTitle: 'Cette offre est terminée',
  ended: 'Ce lien de paiement a expiré le {date}. Vous n’avez pas été débité.',
  inactiveTitle: 'Ce lien de paiement n’est pas actif',
  inactive: '{merchant} a désactivé ce lien. Vous n’avez pas été débité.',
  unavailableTitle: '{merchant} ne peut pas recevoir de paiement pour le moment',
  unavailable: 'Vous n’avez pas été débité. Réessayez plus tard.',
  receiptTitle: 'Le lien de ce reçu a expiré',
  receipt: 'Demandez-en un nouveau à {merchant}.',
  unknownTitle: 'Ce lien n’est pas valide',
  unknown: 'Vérifiez que vous avez copié le lien en entier, ou demandez-en un nouveau au vendeur.',
  support: 'Des questions ? Écrivez à {email}.',
  website: 'Aller chez {merchant}',
};
