"""Commands are typed elsewhere than in the project's directory."""

from elsewhere import nowhere as nowhere
